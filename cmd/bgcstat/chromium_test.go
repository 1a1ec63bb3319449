package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// browser is a headless Chromium, spoken to over pipes: --remote-debugging-pipe
// takes messages that end in a zero byte on descriptor 3 and answers on 4.
type browser struct {
	to      *os.File
	from    *bufio.Reader
	session string
	last    int
	// complaints are errors and exceptions of the page since it was opened.
	complaints []string
	loaded     bool
}

// startBrowser starts Chromium with one empty page, until the test ends. Where
// there is none the test is skipped, in CI it fails.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		need(t, "needs chromium (Debian package chromium): %v", err)
	}
	toRead, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, fromWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	profile, err := os.MkdirTemp("", "chromium")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe", "--user-data-dir="+profile, "about:blank")
	cmd.ExtraFiles = []*os.File{toRead, fromWrite}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	toRead.Close()
	fromWrite.Close()
	b := &browser{to: to, from: bufio.NewReader(from)}
	t.Cleanup(func() {
		_, _ = b.call("Browser.close", nil) // it may close the pipe before it answers
		to.Close()
		if err := cmd.Wait(); err != nil {
			t.Logf("chromium: %v", err)
		}
		from.Close()
		os.RemoveAll(profile) // its helpers may outlive it for a moment, so not t.TempDir
	})
	var target struct{ TargetID string }
	b.must(t, "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var session struct{ SessionID string }
	b.must(t, "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	b.session = session.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.must(t, domain+".enable", nil, nil)
	}
	return b
}

// message is a command, an answer or an event of the DevTools protocol.
type message struct {
	ID        int                       `json:"id,omitempty"`
	SessionID string                    `json:"sessionId,omitempty"`
	Method    string                    `json:"method,omitempty"`
	Params    any                       `json:"params,omitempty"`
	Result    json.RawMessage           `json:"result,omitempty"`
	Error     *struct{ Message string } `json:"error,omitempty"`
}

func (b *browser) receive() (*message, error) {
	raw, err := b.from.ReadBytes(0)
	if err != nil {
		return nil, err
	}
	var m message
	var params json.RawMessage
	m.Params = &params
	if err := json.Unmarshal(raw[:len(raw)-1], &m); err != nil {
		return nil, err
	}
	switch m.Method {
	case "Page.loadEventFired":
		b.loaded = true
	case "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded", "Network.loadingFailed":
		b.complaints = append(b.complaints, m.Method+" "+string(params))
	case "Network.requestWillBeSent":
		var p struct{ Request struct{ URL string } }
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		if u := p.Request.URL; len(u) < 5 || u[:5] != "file:" && u[:5] != "data:" {
			b.complaints = append(b.complaints, "asks for "+u)
		}
	}
	return &m, nil
}

func (b *browser) call(method string, params any) (json.RawMessage, error) {
	b.last++
	raw, err := json.Marshal(message{ID: b.last, SessionID: b.session, Method: method, Params: params})
	if err != nil {
		return nil, err
	}
	if _, err := b.to.Write(append(raw, 0)); err != nil {
		return nil, err
	}
	for {
		m, err := b.receive()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", method, err)
		}
		if m.ID == b.last {
			if m.Error != nil {
				return nil, fmt.Errorf("%s: %w", method, errors.New(m.Error.Message))
			}
			return m.Result, nil
		}
	}
}

func (b *browser) must(t *testing.T, method string, params, result any) {
	t.Helper()
	raw, err := b.call(method, params)
	if err == nil && result != nil {
		err = json.Unmarshal(raw, result)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// open loads a file and waits until all of it is there.
func (b *browser) open(t *testing.T, path string) {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	b.complaints, b.loaded = nil, false
	b.must(t, "Page.navigate", map[string]any{"url": "file://" + path}, nil)
	for !b.loaded {
		if _, err := b.receive(); err != nil {
			t.Fatal(err)
		}
	}
}

// show sets the width of the window and the colours that the device prefers.
func (b *browser) show(t *testing.T, width int, scheme string) {
	t.Helper()
	b.must(t, "Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}, nil)
	b.must(t, "Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// evaluate runs an expression in the page.
func (b *browser) evaluate(t *testing.T, expression string, value any) {
	t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.must(t, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true}, &r)
	if r.ExceptionDetails != nil {
		t.Fatalf("%s: %s", expression, r.ExceptionDetails)
	}
	if err := json.Unmarshal(r.Result.Value, value); err != nil {
		t.Fatal(err)
	}
}

// shoot writes what the page looks like, all of its height, to a file.
func (b *browser) shoot(t *testing.T, file string) {
	t.Helper()
	var r struct{ Data string }
	b.must(t, "Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &r)
	b.save(t, file, r.Data)
}

// paper writes what the page looks like on paper, as PDF.
func (b *browser) paper(t *testing.T, file string) {
	t.Helper()
	var r struct{ Data string }
	b.must(t, "Page.printToPDF", map[string]any{"preferCSSPageSize": true, "paperWidth": 8.27, "paperHeight": 11.69}, &r)
	b.save(t, file, r.Data)
}

func (b *browser) save(t *testing.T, file, data string) {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, raw, 0o644); err != nil {
		t.Fatal(err)
	}
}
