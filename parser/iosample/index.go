package iosample

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

const (
	maxIndex = 16 << 20 // bytes of an index that are read: of 300,000 logs and more
	maxEntry = 4 << 10  // bytes of one entry; the servers allow 512
)

// logIndex is a file that names the logs of a server, one a line, the newest
// last.
type logIndex struct {
	path    string // where this process can open it
	id      FileID
	entries []string
	open    bool // by the server
	changed time.Time
}

// readIndex reads a whole index. It is an error if it does not name logs.
func readIndex(path string) (*logIndex, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxIndex))
	if err != nil {
		return nil, err
	}
	x := &logIndex{path: path, id: fileID(fi), changed: fi.ModTime()}
	for line := range strings.Lines(string(b)) {
		entry, whole := strings.CutSuffix(line, "\n")
		if !whole || entry == "" {
			continue // being written; or MariaDB's mark of a purge
		}
		if !numbered.MatchString(entry) {
			return nil, fmt.Errorf("%s: got %.80q, want the name of a log", path, entry)
		}
		x.entries = append(x.entries, entry)
	}
	return x, nil
}

// lastEntry gives the newest log that an index names, "" where it names none
// yet. buf is space for the end of the index.
func lastEntry(path string, buf []byte) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return "", err
	}
	n, err := f.ReadAt(buf, max(0, size-int64(len(buf))))
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	b := buf[:n]
	// An entry without its newline is being written.
	b = bytes.TrimRight(b[:bytes.LastIndexByte(b, '\n')+1], "\n")
	return string(b[bytes.LastIndexByte(b, '\n')+1:]), nil
}

// Logs begin with one of these. MariaDB encrypts events, and never the whole file.
const (
	magic          = "\xfebin"
	magicEncrypted = "\xfdbin"
)

// isRelayLog looks at the first event of a log, where a server notes that it is
// a relay log; known is false where that cannot be read.
func isRelayLog(path string) (relay, known bool) {
	f, err := os.Open(path)
	if err != nil {
		return false, false
	}
	defer f.Close()
	var head [len(magic) + 19]byte
	if _, err := io.ReadFull(f, head[:]); err != nil || string(head[:len(magic)]) != magic {
		return false, false
	}
	const relayLogF = 0x40 // LOG_EVENT_RELAY_LOG_F, in the flags that end the header
	return head[len(magic)+17]&relayLogF != 0, true
}
