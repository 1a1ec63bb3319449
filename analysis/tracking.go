package analysis

import "bgcstat/parser"

// Server modes of dependency tracking.
const (
	ModeWriteset    = "WRITESET"
	ModeCommitOrder = "COMMIT_ORDER"
	ModeNone        = "none"
	ModeUnknown     = "unknown"
)

// serverMode is what a server's version alone says of its dependency tracking:
// write sets came with 5.7.22, may be switched on since then, and are the only
// mode since 8.4.0, which removed binlog_transaction_dependency_tracking.
func serverMode(l *parser.Log) DependencyTracking {
	d := DependencyTracking{ServerMode: ModeUnknown, From: "unknown"}
	switch v := l.Version; {
	case l.Flavor == 0:
		return d
	case l.Flavor == parser.MariaDB, !v.AtLeast(5, 7, 0):
		d.ServerMode = ModeNone
	case v.AtLeast(8, 4, 0):
		d.ServerMode = ModeWriteset
	case !v.AtLeast(5, 7, 22):
		d.ServerMode = ModeCommitOrder
	default:
		return d
	}
	d.From = "version"
	return d
}
