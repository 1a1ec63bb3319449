package iosample

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Sources holds the names of all sources, in the order in which they are tried.
var Sources = []string{"bpf", "perf", "status", "proc"}

// Config says what to sample and how.
type Config struct {
	Host Host
	// Find gives the process id of the server, also after a restart; nil where
	// it is not on this host, or nobody knows. It is asked again when the process
	// is gone, unless Once is set.
	Find func() (int, error)
	Once bool
	// DataDir and the index files are where the process does not tell, or may
	// not be asked.
	DataDir, BinlogIndex, RelayIndex string
	// Server is asked for its counters and settings; nil where there is no
	// connection.
	Server Server
	// Source is the one to use, or "" for the first that can be.
	Source string
	// Interval is how often samples will be taken; it goes into the header.
	Interval time.Duration
}

// ErrGone is of a server that ended and will not be looked for again.
var ErrGone = errors.New("the server has ended")

// Sampler takes samples. It is not safe for concurrent use.
type Sampler struct {
	config  Config
	header  Header
	source  Source
	files   *liveFiles // nil where nothing is known of the server's files
	process Process    // PID 0 where it is not known
	disk    *Disk

	base      map[countKey]Count // of sources that were closed at a restart
	last      map[countKey]Count // as the last sample had them
	known     Settings
	askedAt   int64 // when the settings were read, CLOCK_MONOTONIC
	samples   int
	lost      int64 // as the last sample had it
	reopen    bool  // the source is that of a process before a restart
	histogram map[Class]*hdrhistogram.Histogram
	cpuAt     int64 // when the CPU time was read, CLOCK_MONOTONIC

	io, stat, stats, cpu held // /proc/PID/io, /proc/PID/stat, /proc/diskstats, /proc/stat
}

// liveFiles is the inventory of the server's process of now.
type liveFiles struct {
	*Inventory
	host  Host
	types map[uint64]string // of file systems, by st_dev
}

// FSType implements serverFiles.
func (f *liveFiles) FSType(dev uint64) string {
	if name, ok := f.types[dev]; ok {
		return name
	}
	name := f.findType(dev)
	f.types[dev] = name
	return name
}

func (f *liveFiles) findType(dev uint64) string {
	for _, file := range f.Files() {
		if file.ID.Dev != dev {
			continue
		}
		if fs, err := f.host.FileSystem(file.Path); err == nil {
			return fs.Type
		}
	}
	if fs, err := f.host.FileSystem(f.DataDir()); err == nil && fs.Dev == dev {
		return fs.Type
	}
	return "an unknown file system"
}

// Open finds the server and opens the first source that can be used. The
// header says which, and why not the others. The error says why none could.
func Open(ctx context.Context, c Config) (*Sampler, error) {
	s := &Sampler{
		config: c, base: map[countKey]Count{}, last: map[countKey]Count{},
		histogram: map[Class]*hdrhistogram.Histogram{},
	}

	// 1. The server: its process, its files, its settings.
	var notFound error
	if c.Find != nil {
		notFound = s.find()
	}
	if s.files == nil {
		inv, err := NewInventory(c.Host, s.target())
		if err == nil {
			s.files = &liveFiles{inv, c.Host, map[uint64]string{}}
		}
		if notFound = cmp.Or(notFound, err); s.files == nil && c.Server == nil {
			return nil, notFound
		}
	}
	if c.Server != nil {
		settings, err := c.Server.Settings(ctx)
		if err != nil {
			return nil, err
		}
		s.known = settings
	}

	// 2. The source.
	if err := s.open(ctx, notFound); err != nil {
		return nil, err
	}

	// 3. The header.
	wall, mono := clocks()
	s.header.Host, s.header.BootID, s.header.Kernel = c.Host.Name(), c.Host.BootID(), c.Host.Kernel()
	s.header.PID, s.header.StartTicks, s.header.Exe = s.process.PID, s.process.StartTicks, s.process.Exe
	s.header.Source, s.header.Exactness, s.header.Detail = s.source.Name(), s.source.Exactness(), s.source.Detail()
	s.header.ClockOffset = wall.UnixNano() - mono
	s.header.Interval = c.Interval.Seconds()
	if c.Server != nil {
		s.header.Server, s.header.Settings = c.Server.Target(), s.known
	}
	s.askedAt = mono
	if s.files != nil {
		if dev, ok := s.device(); ok {
			if d, err := c.Host.Disk(dev); err == nil {
				s.disk = &d
				s.header.Device, s.header.WriteCache = d.Name, d.WriteCache
			}
		}
	}
	return s, nil
}

func (s *Sampler) target() Target {
	return Target{PID: s.process.PID, DataDir: s.config.DataDir, BinlogIndex: s.config.BinlogIndex, RelayIndex: s.config.RelayIndex}
}

// device is that of the newest binlog, or of the other files.
func (s *Sampler) device() (uint64, bool) {
	if b, ok := s.files.Binlog(); ok {
		return b.ID.Dev, true
	}
	if d := s.files.Devices(); len(d) > 0 {
		return d[0], true
	}
	return 0, false
}

// find looks for the server's process and its files.
func (s *Sampler) find() error {
	pid, err := s.config.Find()
	if err != nil {
		return err
	}
	p, err := s.config.Host.Process(pid)
	if err != nil {
		return err
	}
	target := s.target()
	target.PID = pid
	inv, err := NewInventory(s.config.Host, target)
	switch {
	case err != nil && s.files != nil:
		return err // after a restart: it is looked for again
	case err != nil:
	case s.files == nil:
		s.files = &liveFiles{inv, s.config.Host, map[uint64]string{}}
	default:
		s.files.Inventory = inv // for the source, too
	}
	s.process = p
	return err
}

// open tries the sources in their order.
func (s *Sampler) open(ctx context.Context, notFound error) error {
	var refused []Refusal
	for _, name := range Sources {
		if s.config.Source != "" && s.config.Source != name {
			continue
		}
		source, err := s.openOne(ctx, name, notFound)
		if err == nil {
			if second, ok := source.(interface{ Refused() error }); ok && second.Refused() != nil {
				refused = append(refused, Refusal{name + " by file", second.Refused().Error()})
			}
			s.source, s.header.Refused = source, refused
			return nil
		}
		refused = append(refused, Refusal{name, err.Error()})
	}
	if s.config.Source != "" && len(refused) == 1 {
		return fmt.Errorf("source %s: %s", refused[0].Source, refused[0].Why)
	}
	err := errors.New("no source can be used")
	for _, r := range refused {
		err = fmt.Errorf("%w; %s: %s", err, r.Source, r.Why)
	}
	return err
}

func (s *Sampler) openOne(ctx context.Context, name string, notFound error) (Source, error) {
	if name == "status" {
		source, err := openStatus(ctx, s.config.Server)
		if err != nil {
			return nil, err
		}
		return source, nil
	}
	if s.files == nil {
		if notFound != nil {
			return nil, fmt.Errorf("the server's files are not known: %w", notFound)
		}
		return nil, errors.New("the server is not on this host")
	}
	if name == "proc" {
		return &procSource{files: s.files}, nil
	}
	return openKernel(ctx, name, s.process.PID, s.files)
}

// Header describes what is sampled. It must not be changed.
func (s *Sampler) Header() *Header { return &s.header }

// Binlog gives the newest binlog, as it is now.
func (s *Sampler) Binlog() (File, bool) {
	if s.files == nil {
		return File{}, false
	}
	return s.files.Binlog()
}

// NoPosition says why samples have no position in the binlog, nil where they
// have.
func (s *Sampler) NoPosition() error {
	if status, ok := s.source.(*statusSource); ok {
		return status.refused
	}
	return nil
}

// Close frees the source.
func (s *Sampler) Close() error {
	for _, h := range []*held{&s.io, &s.stat, &s.stats, &s.cpu} {
		h.close()
	}
	return s.source.Close()
}

// Sample takes a sample, the last one where last is set. Its syncs are of all
// classes, from sources with events; the first has none, since the trace begins
// with it. What it returns holds until the next call.
// The error is ErrGone where the server has ended and is not looked for, with the
// last sample; any other has none.
func (s *Sampler) Sample(ctx context.Context, last bool) (*Interval, error) {
	// 1. A server that is gone, or back.
	gap, gone := s.restarted(ctx)
	last = last || gone

	// 2. Counts first, then sizes and all else.
	// Syncs under way at the first sample are in its counts, and so they are not
	// in the trace.
	first := s.samples == 0
	counted, err := s.source.Read(ctx, last || first)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		gap = cmp.Or(gap, err.Error())
		counted = &Counted{Lost: s.lost}
	}
	s.lost = counted.Lost
	if counted.Failed != nil {
		gap = cmp.Or(gap, counted.Failed.Error())
	}
	wall, mono := clocks()
	v := &Interval{Sample: &Sample{
		Time: wall.UTC().Truncate(time.Microsecond), Mono: mono,
		PID: s.process.PID, StartTicks: s.process.StartTicks, Lost: counted.Lost, Gap: gap,
	}}
	if !first {
		v.Syncs = counted.Events
	}

	// 3. The files that changed.
	all := last || first
	s.samples++
	for _, c := range joinRedo(counted.Counts) {
		key := keyOf(c)
		if b, ok := s.base[key]; ok {
			c.Syncs += b.Syncs
		}
		if c.Class == Binlog {
			c.Encrypted = s.isEncrypted(key, c)
		}
		if old, seen := s.last[key]; !seen || old != c {
			s.last[key] = c
			if !all {
				v.Sample.Files = append(v.Sample.Files, c)
			}
		}
	}
	if all {
		v.Sample.Files = slices.Collect(maps.Values(s.last))
	}
	sortCounts(v.Sample.Files)

	// 4. How long syncs took.
	for i := range v.Syncs {
		if e := &v.Syncs[i]; e.Latency > 0 {
			h := s.histogram[e.Class]
			if h == nil {
				h = hdrhistogram.New(1, int64(time.Hour), 3)
				s.histogram[e.Class] = h
			}
			_ = h.RecordValue(min(e.Latency, int64(time.Hour)))
		}
	}
	for _, class := range Classes {
		if h := s.histogram[class]; h != nil {
			v.Sample.Latency = append(v.Sample.Latency, Latency{class, h.TotalCount(), h.ValueAtQuantile(50), h.ValueAtQuantile(99)})
		}
	}

	// 5. What stands beside every source.
	if s.process.PID != 0 {
		if b, err := s.io.read(s.config.Host.pid(s.process.PID, "io")); err == nil {
			if wchar, syscw, err := parseIO(s.io.path, b); err == nil {
				v.Sample.WChar, v.Sample.SysCW = &wchar, &syscw
			}
		}
	}
	if s.disk != nil {
		if b, err := s.stats.read(s.config.Host.Root + "/proc/diskstats"); err == nil {
			if n, ok, err := parseFlushes(s.stats.path, b, *s.disk); err == nil && ok {
				v.Sample.DeviceFlushes = &n
			}
		}
	}
	v.Sample.CPU = s.readCPU(mono, last)
	if status, ok := s.source.(*statusSource); ok {
		v.Sample.Status = status.Status()
	}
	v.Sample.Settings = s.changed(ctx, mono)
	if gone {
		return v, ErrGone
	}
	return v, nil
}

func keyOf(c Count) countKey {
	return countKey{FileID{c.Dev, c.Ino}, string(c.Class) + "/" + c.Name}
}

// joinRedo adds up the counts of all files of the redo log. MySQL gives one a
// new name each time that it uses it.
func joinRedo(counts []Count) []Count {
	isRedo := func(c Count) bool { return c.Class == Redo }
	if !slices.ContainsFunc(counts, isRedo) {
		return counts
	}
	redo := Count{Class: Redo}
	for _, c := range counts {
		if isRedo(c) {
			redo.Syncs += c.Syncs
			redo.Exactness = c.Exactness
			redo.MeanLatency = max(redo.MeanLatency, c.MeanLatency) // of a source that has one count
		}
	}
	return append(slices.DeleteFunc(slices.Clone(counts), isRedo), redo)
}

// isEncrypted looks at the beginning of a binlog, once.
func (s *Sampler) isEncrypted(key countKey, c Count) *bool {
	if old, seen := s.last[key]; seen {
		return old.Encrypted
	}
	if s.files == nil || c.Ino == 0 {
		return nil
	}
	f, ok := s.files.Lookup(FileID{c.Dev, c.Ino})
	if !ok {
		return nil
	}
	encrypted, err := s.files.Encrypted(f)
	if err != nil {
		return nil // binlog_encryption must tell
	}
	return &encrypted
}

// sortCounts puts them by class, name and inode.
func sortCounts(counts []Count) {
	slices.SortFunc(counts, func(a, b Count) int {
		return cmp.Or(
			cmp.Compare(slices.Index(Classes, a.Class), slices.Index(Classes, b.Class)),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Ino, b.Ino))
	})
}

// settingsEvery is how often the settings are read again.
const settingsEvery = 10 * time.Second

// changed gives the settings that differ from those before, nil for none.
func (s *Sampler) changed(ctx context.Context, mono int64) Settings {
	if s.config.Server == nil || mono-s.askedAt < int64(settingsEvery) {
		return nil
	}
	s.askedAt = mono
	now, err := s.config.Server.Settings(ctx)
	if err != nil {
		return nil // they are asked for again
	}
	var out Settings
	for name, value := range now {
		if s.known[name] != value {
			if out == nil {
				out = Settings{}
			}
			out[name] = value
		}
	}
	s.known = now
	return out
}

// same reports whether the process is still the one that was found.
func (s *Sampler) same() bool {
	b, err := s.stat.read(s.config.Host.pid(s.process.PID, "stat"))
	if err != nil {
		return false
	}
	_, start, err := parseStat(s.stat.path, b)
	return err == nil && start == s.process.StartTicks
}

// restarted looks whether the process is still the same, and else for the one
// that took its place. gap says what could not be counted meanwhile.
func (s *Sampler) restarted(ctx context.Context) (gap string, gone bool) {
	if s.process.PID == 0 {
		return "", false // never found: its files are all there is
	}
	if !s.same() {
		if s.config.Once {
			return "the server has ended", true
		}
		if err := s.find(); err != nil {
			return "the server is gone: " + err.Error(), false
		}
		if s.source.Name() == "bpf" || s.source.Name() == "status" {
			return "the server was restarted", false // these go on by themselves
		}
		s.reopen = true
	}
	if !s.reopen {
		return "", false
	}
	// What the old source still counts is kept when there is a new one.
	base := maps.Clone(s.last)
	if counted, err := s.source.Read(ctx, true); err == nil {
		for _, c := range joinRedo(counted.Counts) {
			key := keyOf(c)
			c.Syncs += s.base[key].Syncs
			base[key] = c
		}
	}
	source, err := s.openOne(ctx, s.source.Name(), nil)
	if err != nil {
		return "the server was restarted: " + err.Error(), false // it is tried again
	}
	s.source.Close()
	s.source, s.base, s.reopen = source, base, false
	return "the server was restarted", false
}
