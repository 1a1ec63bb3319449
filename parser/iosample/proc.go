package iosample

import "context"

// procSource counts no syncs: no file of /proc has them. What the samples have
// beside every source is all there is: flushes of the disk, and the growth of
// the binlog.
type procSource struct {
	files   serverFiles
	counts  []Count
	counted Counted
}

func (s *procSource) Name() string         { return "proc" }
func (s *procSource) Exactness() Exactness { return DeviceWide }
func (s *procSource) Detail() string       { return "no syncs: flushes of the disk and growth of the binlog" }
func (s *procSource) Close() error         { return nil }

// Read looks at the size of the newest binlog.
func (s *procSource) Read(context.Context, bool) (*Counted, error) {
	if b, ok := s.files.Binlog(); ok {
		n := len(s.counts)
		if n == 0 || s.counts[n-1].Name != b.Name || s.counts[n-1].Ino != b.ID.Ino {
			s.counts = append(s.counts, Count{Class: Binlog, Name: b.Name, Dev: b.ID.Dev, Ino: b.ID.Ino})
			n++
		}
		s.counts[n-1].Size = b.Size
	}
	s.counted.Counts = s.counts
	return &s.counted, nil
}
