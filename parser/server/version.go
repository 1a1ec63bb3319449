package server

import (
	"fmt"
	"strconv"
	"strings"
)

// Flavors of servers. Percona's and Aurora's are MySQL's.
const (
	MySQL   = "mysql"
	MariaDB = "mariadb"
)

// Version is what a server says that it is.
type Version struct {
	Flavor              string // MySQL or MariaDB
	Major, Minor, Patch int
	Text                string // as the server writes it: "10.11.6-MariaDB-log"
}

func (v Version) String() string { return v.Flavor + " " + v.Text }

// AtLeast reports whether v is that version or a later one, of either flavor.
func (v Version) AtLeast(major, minor int) bool {
	return v.Major > major || v.Major == major && v.Minor >= minor
}

// parseVersion reads the values of version and version_comment.
func parseVersion(text, comment string) (Version, error) {
	v := Version{Flavor: MySQL, Text: text}
	numbers := text
	if strings.Contains(strings.ToLower(text+" "+comment), "mariadb") {
		v.Flavor = MariaDB
		// For replicas of old MySQL it puts this before.
		numbers = strings.TrimPrefix(text, "5.5.5-")
	}
	if i := strings.IndexFunc(numbers, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }); i >= 0 {
		numbers = numbers[:i]
	}
	parts := strings.Split(strings.Trim(numbers, "."), ".")
	for i, to := range []*int{&v.Major, &v.Minor, &v.Patch} {
		if i == len(parts) && i == 2 { // Aurora: 8.0.mysql_aurora.3.04.0
			break
		}
		var err error
		if i < len(parts) {
			*to, err = strconv.Atoi(parts[i])
		}
		if i >= len(parts) || err != nil {
			return v, fmt.Errorf("version: got %q, want one like 8.4.0", text)
		}
	}
	return v, nil
}
