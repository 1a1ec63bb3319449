package parser

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// GTIDSet is a set of GTIDs of one flavor or of both. The zero value is an
// empty set. It is not safe for concurrent use.
type GTIDSet struct {
	intervals map[GTIDSource][]gtidInterval // sorted, disjoint, not adjacent
	last      GTIDSource                    // where Add last was: transactions come in runs
	lastRun   []gtidInterval
}

type gtidInterval struct{ first, last uint64 } // both included

// ParseGTIDSet reads the notation of the server's own options.
//
//	MySQL:   uuid:1-5:7, uuid:tag:1-3, uuid
//	MariaDB: 0-1-100, 0-1-100-200 (numbers 100 to 200)
//
// Members are separated by commas, white space is ignored, a UUID alone
// stands for all of its transactions.
func ParseGTIDSet(s string) (*GTIDSet, error) {
	set := &GTIDSet{}
	for member := range strings.SplitSeq(s, ",") {
		member = strings.Join(strings.Fields(member), "")
		if member == "" {
			continue
		}
		if err := set.parseMember(member); err != nil {
			return nil, fmt.Errorf("GTID set: %q: %w", member, err)
		}
	}
	if len(set.intervals) == 0 {
		return nil, fmt.Errorf("GTID set: %q holds no GTID", s)
	}
	return set, nil
}

func (s *GTIDSet) parseMember(member string) error {
	head, rest, hasRest := strings.Cut(member, ":")
	uuid, isUUID := parseUUID(head)
	if !isUUID {
		return s.parseMariaDB(member)
	}
	src := GTIDSource{Flavor: MySQL, UUID: uuid}
	if !hasRest {
		s.addInterval(src, gtidInterval{1, maxGTIDNumber})
		return nil
	}
	for part := range strings.SplitSeq(rest, ":") {
		if part != "" && (part[0] < '0' || part[0] > '9') {
			if !validTag(part) {
				return fmt.Errorf("tag %q: want at most 32 letters, digits and underscores", part)
			}
			src.Tag = strings.ToLower(part)
			continue
		}
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		iv, err := parseInterval(first, last)
		if err != nil {
			return err
		}
		s.addInterval(src, iv)
	}
	return nil
}

func (s *GTIDSet) parseMariaDB(member string) error {
	parts := strings.Split(member, "-")
	if len(parts) != 3 && len(parts) != 4 {
		return fmt.Errorf("want UUID:INTERVAL or DOMAIN-SERVER-NUMBER")
	}
	domain, err := strconv.ParseUint(parts[0], 10, 32)
	if err != nil {
		return fmt.Errorf("domain %q: want a 32-bit number", parts[0])
	}
	server, err := strconv.ParseUint(parts[1], 10, 32)
	if err != nil {
		return fmt.Errorf("server id %q: want a 32-bit number", parts[1])
	}
	iv, err := parseInterval(parts[2], parts[len(parts)-1])
	if err != nil {
		return err
	}
	s.addInterval(GTIDSource{Flavor: MariaDB, Domain: uint32(domain), Server: uint32(server)}, iv)
	return nil
}

// maxGTIDNumber is the largest number that either flavor gives.
const maxGTIDNumber = 1<<63 - 1

func parseInterval(first, last string) (gtidInterval, error) {
	a, errA := strconv.ParseUint(first, 10, 63)
	b, errB := strconv.ParseUint(last, 10, 63)
	if errA != nil || errB != nil || a == 0 || b < a {
		return gtidInterval{}, fmt.Errorf("interval %s-%s: want two rising numbers from 1 on", first, last)
	}
	return gtidInterval{a, b}, nil
}

func parseUUID(s string) (uuid [16]byte, ok bool) {
	s = strings.ReplaceAll(s, "-", "")
	if len(s) != 32 {
		return uuid, false
	}
	_, err := hex.Decode(uuid[:], []byte(s))
	return uuid, err == nil
}

func validTag(s string) bool {
	if len(s) > 32 {
		return false
	}
	for _, c := range []byte(s) {
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// Contains reports whether g is in the set. A transaction without GTID never is.
func (s *GTIDSet) Contains(g GTID) bool {
	ivs := s.intervals[g.Source]
	_, found := slices.BinarySearchFunc(ivs, g.Number, func(iv gtidInterval, n uint64) int {
		switch {
		case iv.last < n:
			return -1
		case iv.first > n:
			return 1
		default:
			return 0
		}
	})
	return found
}

// Add puts g into the set. In log order it costs a comparison.
func (s *GTIDSet) Add(g GTID) {
	if g.IsZero() {
		return
	}
	if n := len(s.lastRun); n > 0 && g.Source == s.last && g.Number == s.lastRun[n-1].last+1 {
		s.lastRun[n-1].last++
		return
	}
	s.addInterval(g.Source, gtidInterval{g.Number, g.Number})
	s.last, s.lastRun = g.Source, s.intervals[g.Source]
}

// addInterval merges iv into the intervals of src.
func (s *GTIDSet) addInterval(src GTIDSource, iv gtidInterval) {
	if s.intervals == nil {
		s.intervals = make(map[GTIDSource][]gtidInterval)
	}
	ivs := s.intervals[src]
	// [i, j) are the intervals that touch iv.
	i, _ := slices.BinarySearchFunc(ivs, iv.first, func(have gtidInterval, first uint64) int {
		if have.last+1 < first {
			return -1
		}
		return 1
	})
	j := i
	for j < len(ivs) && ivs[j].first <= iv.last+1 {
		iv.first, iv.last = min(iv.first, ivs[j].first), max(iv.last, ivs[j].last)
		j++
	}
	s.intervals[src] = slices.Replace(ivs, i, j, iv)
	s.lastRun = nil
}

// addSet puts all of o into the set.
func (s *GTIDSet) addSet(o *GTIDSet) {
	for src, ivs := range o.intervals {
		for _, iv := range ivs {
			s.addInterval(src, iv)
		}
	}
}

// clone gives a set that shares nothing with s.
func (s *GTIDSet) clone() *GTIDSet {
	c := &GTIDSet{}
	c.addSet(s)
	return c
}

// beyond gives one GTID of s that o does not cover: for MySQL one that is not
// in o; for MariaDB, whose numbers may have gaps, one above the highest in o.
func (s *GTIDSet) beyond(o *GTIDSet) (GTID, bool) {
	var found GTID
	ok := false
	for src, ivs := range s.intervals {
		g := GTID{Source: src}
		if others := o.intervals[src]; src.Flavor == MariaDB {
			g.Number = ivs[len(ivs)-1].last
			if n := len(others); n > 0 && others[n-1].last >= g.Number {
				continue
			}
		} else if g.Number = firstOutside(ivs, others); g.Number == 0 {
			continue
		}
		// The answer must not hang on the order of a map.
		if !ok || g.String() < found.String() {
			found, ok = g, true
		}
	}
	return found, ok
}

// firstOutside is the lowest number in ivs that is not in others, 0 for none.
func firstOutside(ivs, others []gtidInterval) uint64 {
	for _, iv := range ivs {
		n := iv.first
		for _, other := range others {
			if other.first <= n && n <= other.last {
				n = other.last + 1
			}
		}
		if n <= iv.last {
			return n
		}
	}
	return 0
}

// size is the number of intervals, a measure of the set's memory.
func (s *GTIDSet) size() int {
	n := 0
	for _, ivs := range s.intervals {
		n += len(ivs)
	}
	return n
}

// String gives the set in the notation of ParseGTIDSet, sources sorted.
func (s *GTIDSet) String() string {
	members := make([]string, 0, len(s.intervals))
	for src, ivs := range s.intervals {
		var b []byte
		if src.Flavor == MySQL {
			b = src.appendTo(b)
		}
		for i, iv := range ivs {
			if src.Flavor == MySQL {
				b = append(b, ':')
			} else {
				if i > 0 {
					b = append(b, ',')
				}
				b = append(src.appendTo(b), '-')
			}
			b = strconv.AppendUint(b, iv.first, 10)
			if iv.last > iv.first {
				b = append(b, '-')
				b = strconv.AppendUint(b, iv.last, 10)
			}
		}
		members = append(members, string(b))
	}
	slices.Sort(members)
	return strings.Join(members, ",")
}
