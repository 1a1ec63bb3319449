package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAskPassword types a password on a terminal of the program's own, and
// interrupts it.
func TestAskPassword(t *testing.T) {
	if os.Getenv("BGCSTAT_TEST_ASK") != "" {
		o, _, err := connecting(t, "--no-defaults", "-p")
		fmt.Printf("got %q %v\n", o.Password, err)
		return
	}
	for _, test := range []struct {
		typed, want string
		signal      syscall.Signal
	}{
		{"hünter2 #\n", `got "hünter2 #" <nil>`, 0},
		{"\n", `got "" <nil>`, 0},
		{"hun\x03", "", syscall.SIGINT},
	} {
		ptmx, tty := terminal(t)
		cmd := exec.Command(os.Args[0], "-test.run=^TestAskPassword$")
		cmd.Env = append(os.Environ(), "BGCSTAT_TEST_ASK=1")
		// The terminal is no standard file of it.
		cmd.ExtraFiles = []*os.File{tty}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		var shown bytes.Buffer
		var reading sync.WaitGroup
		reading.Go(func() { _, _ = io.Copy(&shown, ptmx) })
		for echoes(t, tty) { // until it reads
			select {
			case err := <-ended:
				t.Fatalf("the program has ended (%v): %s", err, &out)
			default:
			}
		}
		if _, err := ptmx.WriteString(test.typed); err != nil {
			t.Fatal(err)
		}
		err := <-ended
		if !echoes(t, tty) {
			t.Errorf("%q: the terminal does not show what is typed afterwards", test.typed)
		}
		tty.Close()
		reading.Wait()
		if s := shown.String(); !strings.HasPrefix(s, "Enter password: ") || strings.Contains(s, "hun") {
			t.Errorf("%q: the terminal shows %q", test.typed, s)
		}
		if status := cmd.ProcessState.Sys().(syscall.WaitStatus); test.signal != 0 && (!status.Signaled() || status.Signal() != test.signal) {
			t.Errorf("%q: ended with %v, want %v", test.typed, err, test.signal)
		}
		if !strings.Contains(out.String(), test.want) {
			t.Errorf("%q: %q, want %q", test.typed, out.String(), test.want)
		}
	}
}

// TestAskPasswordNoTerminal has none.
func TestAskPasswordNoTerminal(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestAskPassword$")
	cmd.Env = append(os.Environ(), "BGCSTAT_TEST_ASK=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.Output()
	if want := `got "" password: to be asked for, and there is no terminal`; err != nil || !strings.Contains(string(out), want) {
		t.Errorf("got %q, %v, want %q", out, err, want)
	}
}

// terminal makes a pseudo-terminal.
func terminal(t *testing.T) (ptmx, tty *os.File) {
	t.Helper()
	ptmx, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ptmx.Close() })
	if err := unix.IoctlSetPointerInt(int(ptmx.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(ptmx.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	return ptmx, tty
}

// echoes reports whether the terminal shows what is typed.
func echoes(t *testing.T, tty *os.File) bool {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}
