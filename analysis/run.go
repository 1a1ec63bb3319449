package analysis

import "bgcstat/parser/loadgen"

// Run is what is known of one run of a command beside a server, next to the
// Result of what was committed meanwhile: run.json of a run directory.
type Run struct {
	SchemaVersion int      `json:"schema_version"`
	Bgcstat       string   `json:"bgcstat"`         // the build that recorded it
	Label         string   `json:"label,omitempty"` // runs with the same one are repeats
	Command       []string `json:"command"`
	// Start and End are of the command, by the clock of the host that ran it.
	Start   Time    `json:"start"`
	End     Time    `json:"end"`
	Seconds float64 `json:"seconds"`
	Exit    Exit    `json:"exit"`

	Server   RunServer         `json:"server"`
	Host     *RunHost          `json:"host,omitempty"` // nil where the server is on another
	Settings map[string]string `json:"settings"`       // of the server, at the start
	// Changed has the settings that are others at the end: "" for those that the
	// server has no more.
	Changed map[string]string `json:"changed_settings,omitempty"`
	// From and To are the server's position in its binlog at the start and the
	// end; To is nil where the server could not be asked any more.
	From Position  `json:"from"`
	To   *Position `json:"to,omitempty"`
	// Read is where the log was read: "files" or "connection", "" where it was not.
	Read string `json:"read,omitempty"`
	// Counters are by how much counters of the server grew, by their names in SHOW
	// GLOBAL STATUS; the connections of the recording are in them. MySQL's
	// performance_schema.binlog_misc is COUNT_MISC of wait/io/file/sql/binlog: syncs
	// of binlogs, with opens and seeks.
	Counters map[string]int64 `json:"counters,omitempty"`
	Load     *loadgen.Summary `json:"load,omitempty"` // nil where the command printed none
	Others   *Others          `json:"others,omitempty"`
	// Without says which parts of the report there cannot be, as where the server
	// is on another host; Missing what should be there and is not. A sentence each.
	Without []string `json:"without,omitempty"`
	Missing []string `json:"missing,omitempty"`
}

// Exit is how the command ended.
type Exit struct {
	// Status is as a shell has it: 128 and its number for a signal. It is -1 where the
	// command could not be run, or its end was not seen.
	Status int    `json:"status"`
	Signal string `json:"signal,omitempty"` // that ended it
	Error  string `json:"error,omitempty"`  // why it could not be run
}

// RunServer is the server of a run.
type RunServer struct {
	Address string `json:"address"` // as it was connected to; never with a password
	Flavor  string `json:"flavor"`
	Version string `json:"version"`
	Local   bool   `json:"local"` // its process was seen on this host
}

// RunHost is the host of the server.
type RunHost struct {
	Name       string `json:"name"`
	Kernel     string `json:"kernel"`
	CPUs       int    `json:"cpus"`
	Device     string `json:"device,omitempty"`
	WriteCache string `json:"write_cache,omitempty"`
}

// Others are the transactions of a run that the command did not make, by the
// ids of their sessions.
type Others struct {
	// Before counts those of sessions that were there before the command began;
	// nil where the log has no session ids.
	Before *int64 `json:"before,omitempty"`
	// Unknown counts those whose session is not in the log.
	Unknown int64 `json:"unknown"`
}
