package parser

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Wrong choices of files, found before anything is read.
var (
	ErrSameLog        = errors.New("the same log twice")
	ErrSeveralServers = errors.New("logs of different servers")
	ErrNoLogs         = errors.New("no binlogs")
)

// Stdin is the argument that stands for standard input.
const Stdin = "-"

// Input is one binlog that is to be read: a file, possibly a .gz or .zst
// archive, or standard input.
type Input struct {
	Path string
	Size int64 // of the file on disk; 0 for standard input
	// Head is what the beginning of the log says; without Flavor where it says
	// nothing. Err is why it could not be opened.
	Head *Log
	Err  error

	identity string    // of the log: see identify
	stream   io.Reader // standard input or a pipe, decompressed, nothing read yet
}

// headSize is how much of a log is looked at to tell one from another.
const headSize = 4 << 10

// Find makes inputs of arguments as people give them: files, "-" for stdin,
// directories, and .index files with the names that a server keeps in them.
// They come in log order, whatever order the arguments were in.
//
// A file that cannot be opened is an Input with Err set. The same log twice
// gives ErrSameLog, a directory or index without logs ErrNoLogs.
func Find(args []string, stdin io.Reader) ([]*Input, error) {
	var inputs []*Input
	for i, arg := range args {
		if arg == Stdin && slices.Contains(args[:i], Stdin) {
			return nil, fmt.Errorf("%w: standard input", ErrSameLog)
		}
		paths := []string{arg}
		info, err := os.Stat(arg)
		switch {
		case arg == Stdin:
		case err == nil && info.IsDir():
			if paths, err = logsInDir(arg); err != nil {
				return nil, err
			}
		case filepath.Ext(arg) == ".index":
			if paths, err = logsInIndex(arg); err != nil {
				return nil, err
			}
		}
		for _, path := range paths {
			inputs = append(inputs, newInput(path, stdin))
		}
	}
	inLogOrder(inputs)
	nameLogs(inputs)
	return inputs, checkRepeats(inputs)
}

// nameLogs names each log by its file's name, or by its whole path where
// another has the same name.
func nameLogs(inputs []*Input) {
	count := make(map[string]int, len(inputs))
	for _, in := range inputs {
		count[filepath.Base(in.Path)]++
	}
	for _, in := range inputs {
		if name := filepath.Base(in.Path); in.Path != Stdin && count[name] == 1 {
			in.Head.Name = name
		}
	}
}

func newInput(path string, stdin io.Reader) *Input {
	in := &Input{Path: path, Head: &Log{Name: path}}
	if path == Stdin {
		in.Head.Name = "stdin"
	}
	var head []byte
	if head, in.Err = in.readHead(stdin); in.Err == nil {
		r := NewReader(bytes.NewReader(head), in.Head.Name, Options{NoChecksums: true})
		_, _ = r.Next() // what is wrong with the log is said when it is read
		in.Head = r.Log()
		in.identity = identify(in.Head, head)
	}
	return in
}

// readHead gives the beginning of the log. What cannot be opened twice stays
// open, with its beginning unread.
func (in *Input) readHead(stdin io.Reader) ([]byte, error) {
	src := stdin
	if in.Path != Stdin {
		info, err := os.Stat(in.Path)
		if err != nil {
			return nil, plainPathError(err)
		}
		if info.Mode().IsRegular() {
			return in.readFileHead()
		}
		if info.Mode()&(os.ModeNamedPipe|os.ModeCharDevice) == 0 {
			return nil, errors.New("not a file")
		}
		if src, err = os.Open(in.Path); err != nil {
			return nil, plainPathError(err)
		}
	}
	src, err := decompress(src)
	if err != nil {
		return nil, err
	}
	buffered := bufio.NewReaderSize(src, headSize)
	head, _ := buffered.Peek(headSize)
	in.stream = buffered
	return bytes.Clone(head), nil
}

func (in *Input) readFileHead() ([]byte, error) {
	src, err := in.open(nil)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	head := make([]byte, headSize)
	n, err := io.ReadFull(src, head)
	if n == 0 && err != nil && !errors.Is(err, io.EOF) {
		return nil, plainPathError(err)
	}
	return head[:n], nil
}

// open gives the log's bytes, decompressed. Bytes read from the disk are added
// to read.
func (in *Input) open(read *atomic.Int64) (io.ReadCloser, error) {
	if in.stream != nil {
		return io.NopCloser(in.stream), nil
	}
	file, err := os.Open(in.Path)
	if err != nil {
		return nil, plainPathError(err)
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, plainPathError(err)
	}
	in.Size = info.Size()
	src, err := decompress(&counter{file, read})
	if err != nil {
		file.Close()
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{src, file}, nil
}

// plainPathError drops the path from an error of the operating system: a
// position names the file already.
func plainPathError(err error) error {
	if pathErr, ok := errors.AsType[*os.PathError](err); ok {
		return pathErr.Err
	}
	return err
}

type counter struct {
	r io.Reader
	n *atomic.Int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.n != nil {
		c.n.Add(int64(n))
	}
	return n, err
}

// maxArchiveWindow is the largest window of a .zst archive that is given
// memory: enough for level 19; --ultra and --long need more.
const maxArchiveWindow = 16 << 20

// decompress tells gzip and zstd archives by their magic numbers.
func decompress(src io.Reader) (io.Reader, error) {
	// Small enough that the large reads of a plain log go past it.
	buffered := bufio.NewReaderSize(src, 32<<10)
	magic, _ := buffered.Peek(4) // a short file is the framer's to report
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		r, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, nothingUnpacked(err)
		}
		return &archive{r: r}, nil
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		r, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxArchiveWindow))
		return &archive{r: r}, err
	case bytes.HasPrefix(magic, []byte{0xfd, '7', 'z', 'X'}), bytes.HasPrefix(magic, []byte("BZh")), bytes.HasPrefix(magic, []byte("PK\x03\x04")):
		return nil, fault(ErrNotBinlog, "an archive of a kind that is not read (.gz and .zst are): decompress it first")
	default:
		return buffered, nil
	}
}

// archive is what a decompressor gives.
type archive struct {
	r    io.Reader
	some bool
}

func (a *archive) Read(p []byte) (int, error) {
	n, err := a.r.Read(p)
	a.some = a.some || n > 0
	if err != nil && !errors.Is(err, io.EOF) && !a.some {
		err = nothingUnpacked(err)
	}
	return n, err
}

func nothingUnpacked(err error) error {
	return fmt.Errorf("nothing of the archive can be unpacked: %w", err)
}

// numbered is the name of a log: a base, a number of six digits and more, and
// perhaps an archive's suffix.
var numbered = regexp.MustCompile(`^(.*)\.(\d{6,})(\.gz|\.zst)?$`)

// SplitName takes a log's name apart, whatever directory and archive it is in: its
// base and its number. ok is false for a name that no server gives.
func SplitName(path string) (base string, number int64, ok bool) {
	m := numbered.FindStringSubmatch(filepath.Base(path))
	if m == nil {
		return "", 0, false
	}
	number, err := strconv.ParseInt(m[2], 10, 64)
	return m[1], number, err == nil
}

// logsInDir gives the binlogs in a directory, or where it has none the relay logs.
func logsInDir(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, plainPathError(err))
	}
	var binlogs, relays []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if _, _, ok := SplitName(e.Name()); !ok {
			continue
		}
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			continue // opening a pipe here could wait for ever
		}
		if nameTellsRelay(path) {
			relays = append(relays, path)
		} else {
			binlogs = append(binlogs, path)
		}
	}
	switch {
	case len(binlogs) > 0:
		return binlogs, nil
	case len(relays) > 0:
		return relays, nil
	default:
		return nil, fmt.Errorf("%s: %w in this directory (names like binlog.000001)", dir, ErrNoLogs)
	}
}

// maxIndex bounds an index file: a million logs.
const maxIndex = 64 << 20

// logsInIndex gives the logs that a server's index file names. Where a path is
// not there, as when the logs were copied elsewhere, the file of that name
// beside the index is taken.
func logsInIndex(index string) ([]string, error) {
	file, err := os.Open(index)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", index, plainPathError(err))
	}
	defer file.Close()
	var paths []string
	lines := bufio.NewScanner(io.LimitReader(file, maxIndex))
	for lines.Scan() {
		name := strings.TrimSpace(lines.Text())
		if name == "" {
			continue
		}
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(index), path)
		}
		if _, err := os.Stat(path); err != nil {
			path = filepath.Join(filepath.Dir(index), filepath.Base(name))
		}
		paths = append(paths, path)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", index, err)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s: %w named in this index file", index, ErrNoLogs)
	}
	return paths, nil
}

// inLogOrder sorts logs of one base name by number (binlog.999999 comes before
// binlog.1000000), and the base names, and logs without a number, by when the
// earliest of each was begun. Begun in the same second, they stay as given.
func inLogOrder(inputs []*Input) {
	base := func(in *Input) string {
		if b, _, ok := SplitName(in.Path); ok {
			return b
		}
		return in.Path
	}
	begun := make(map[string]Micros)
	given := make(map[string]int)
	for i, in := range inputs {
		b := base(in)
		if _, ok := given[b]; !ok {
			given[b] = i
		}
		if made := in.Head.Made; made != 0 && (begun[b] == 0 || made < begun[b]) {
			begun[b] = made
		}
	}
	slices.SortStableFunc(inputs, func(x, y *Input) int {
		bx, by := base(x), base(y)
		_, nx, _ := SplitName(x.Path)
		_, ny, _ := SplitName(y.Path)
		return cmp.Or(cmp.Compare(begun[bx], begun[by]), cmp.Compare(given[bx], given[by]), cmp.Compare(nx, ny))
	})
}

// checkRepeats finds a log that was given twice: one file by two names, or two
// copies of it.
func checkRepeats(inputs []*Input) error {
	seen := make(map[string]string, len(inputs))
	for _, in := range inputs {
		key := in.identity
		if key == "" {
			continue
		}
		if first, ok := seen[key]; ok {
			return fmt.Errorf("%w: %s and %s", ErrSameLog, first, in.Path)
		}
		seen[key] = in.Path
	}
	return nil
}

// identify gives what two copies of a log share and two logs do not: the hash
// of the format event, but for its in-use flag, and of what follows. It is
// empty where a log holds too little to tell.
func identify(l *Log, head []byte) string {
	if l.Flavor == 0 {
		return ""
	}
	const flags = 4 + 17
	first := 4 + int(le32(head[4+9:]))
	if first >= len(head) {
		return ""
	}
	head[flags] &^= flagInUse
	// An open log may have been copied twice, the second time longer.
	sum := sha256.Sum256(head[:min(len(head), first+1024)])
	return string(sum[:])
}

// ByServer parts inputs by the server that wrote them, and relay logs from
// binlogs, each part in log order. Inputs that say nothing stay with the first.
func ByServer(inputs []*Input) [][]*Input {
	type server struct {
		id     uint32
		flavor Flavor
		relay  bool
	}
	var order []server
	parts := make(map[server][]*Input)
	var unknown []*Input
	for _, in := range inputs {
		if in.Head.Flavor == 0 {
			unknown = append(unknown, in)
			continue
		}
		s := server{in.Head.ServerID, in.Head.Flavor, in.Head.Relay}
		if parts[s] == nil {
			order = append(order, s)
		}
		parts[s] = append(parts[s], in)
	}
	if len(order) == 0 {
		return [][]*Input{unknown}
	}
	split := make([][]*Input, len(order))
	for i, s := range order {
		split[i] = parts[s]
	}
	if len(unknown) > 0 {
		split[0] = append(split[0], unknown...)
		inLogOrder(split[0])
	}
	return split
}

// OneServer gives ErrSeveralServers, with both named, where not all inputs are
// logs of one kind of one server.
func OneServer(inputs []*Input) error {
	parts := ByServer(inputs)
	if len(parts) < 2 {
		return nil
	}
	a, b := parts[0][0], parts[1][0]
	return fmt.Errorf("%w: %s is %s, %s is %s", ErrSeveralServers, a.Path, a.origin(), b.Path, b.origin())
}

func (in *Input) origin() string {
	return fmt.Sprintf("a %v of %v server_id %d", in.Head.Kind(), in.Head.Flavor, in.Head.ServerID)
}
