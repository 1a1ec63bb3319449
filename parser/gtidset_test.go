package parser_test

import (
	"math/rand/v2"
	"testing"

	"bgcstat/parser"
)

const (
	uuid1 = "00000000-0000-0000-0000-000000000001"
	uuid2 = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
)

var gtidSetSeeds = []string{
	uuid1 + ":1", uuid1 + ":1-5:7", uuid1 + ":tag:1-3", uuid1, "0-1-100", "0-1-100-200",
	uuid1 + ":1-5, " + uuid2 + ":3", "", ",", uuid1 + ":", "0-1", "1-2-3-4-5", uuid1 + ":9223372036854775807",
	uuid1 + ":t:1-3:u:4", "4294967295-4294967295-1",
}

func TestParseGTIDSet(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{uuid1 + ":1", uuid1 + ":1"},
		{uuid1 + ":1-5:7", uuid1 + ":1-5:7"},
		{uuid1 + ":7:1-5:6", uuid1 + ":1-7"},
		{uuid1 + ":1-5:3-9", uuid1 + ":1-9"},
		{uuid1 + ":1-3:5:4", uuid1 + ":1-5"},
		{uuid1, uuid1 + ":1-9223372036854775807"},
		{"3E11FA47-71CA-11E1-9E33-C80AA9429562:1", uuid2 + ":1"},
		{"3e11fa4771ca11e19e33c80aa9429562:1", uuid2 + ":1"},
		{" " + uuid2 + " : 1 - 5 ,\n" + uuid1 + ":2", uuid1 + ":2," + uuid2 + ":1-5"},
		{uuid1 + ":Tag_1:1-3", uuid1 + ":tag_1:1-3"},
		{uuid1 + ":1-2:tag:1-3:5:other:4", uuid1 + ":1-2," + uuid1 + ":other:4," + uuid1 + ":tag:1-3:5"},
		{"0-1-100", "0-1-100"},
		{"0-1-100,0-1-101", "0-1-100-101"},
		{"1-7-5,0-1-100-200", "0-1-100-200,1-7-5"},
	} {
		set, err := parser.ParseGTIDSet(test.in)
		if err != nil {
			t.Errorf("%q: %v", test.in, err)
		} else if got := set.String(); got != test.want {
			t.Errorf("%q: got %q, want %q", test.in, got, test.want)
		}
	}
}

func TestParseGTIDSetErrors(t *testing.T) {
	for _, in := range []string{
		"", " , ", uuid1 + ":", uuid1 + ":0", uuid1 + ":5-1", uuid1 + ":1-", uuid1 + ":-1", uuid1 + ":x-y:1",
		uuid1 + ":9223372036854775808", uuid1 + ":12345678901234567890123456789012345:1",
		uuid1 + ":tag_of_33_bytes_which_is_too_many:1", "0-1", "0-1-0", "0-1-5-4", "4294967296-1-1", "0-4294967296-1",
		"a-1-1", "0-a-1", "1-2-3-4-5", "hello",
	} {
		if set, err := parser.ParseGTIDSet(in); err == nil {
			t.Errorf("%q: got %v, want an error", in, set)
		}
	}
}

// A set is compared with a map of its members, in random order.
func TestGTIDSetAdd(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		set := &parser.GTIDSet{}
		members := make(map[parser.GTID]bool)
		sources := []parser.GTIDSource{
			{Flavor: parser.MySQL, UUID: [16]byte{15: 1}},
			{Flavor: parser.MySQL, UUID: [16]byte{15: 1}, Tag: "tag"},
			{Flavor: parser.MariaDB, Domain: 1, Server: 2},
		}
		for range random.IntN(60) {
			g := parser.GTID{Source: sources[random.IntN(len(sources))], Number: 1 + random.Uint64N(30)}
			for range random.IntN(5) {
				set.Add(g)
				members[g] = true
				g.Number++
			}
		}
		set.Add(parser.GTID{})
		for _, src := range sources {
			for n := range uint64(40) {
				g := parser.GTID{Source: src, Number: n}
				if got, want := set.Contains(g), members[g]; got != want {
					t.Fatalf("%v contains %v: got %v, want %v", set, g, got, want)
				}
			}
		}
		if len(members) == 0 {
			continue
		}
		again, err := parser.ParseGTIDSet(set.String())
		if err != nil || again.String() != set.String() {
			t.Fatalf("%v is read as %v (%v)", set, again, err)
		}
	}
}

func TestGTIDString(t *testing.T) {
	mysql := parser.GTIDSource{Flavor: parser.MySQL, UUID: [16]byte{15: 1}}
	tagged := mysql
	tagged.Tag = "tag"
	for _, test := range []struct {
		g    parser.GTID
		want string
	}{
		{parser.GTID{}, ""},
		{parser.GTID{Source: mysql, Number: 7}, uuid1 + ":7"},
		{parser.GTID{Source: tagged, Number: 7}, uuid1 + ":tag:7"},
		{parser.GTID{Source: parser.GTIDSource{Flavor: parser.MariaDB, Domain: 4294967295, Server: 3}, Number: 18446744073709551615}, "4294967295-3-18446744073709551615"},
	} {
		if got := test.g.String(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
		if got, want := string(test.g.AppendTo([]byte("x"))), "x"+test.want; got != want {
			t.Errorf("AppendTo: got %q, want %q", got, want)
		}
	}
}
