// Package server connects to a MySQL or MariaDB server the way the mysql
// client's users expect it, and asks it the few things that a report on its
// commits needs: its version, its settings, its position in the binlog.
//
//	var o server.Options
//	warnings, err := o.ReadDefaults("/etc/my.cnf", false)
//	o.Host = "db1"
//	c, err := server.Connect(ctx, o)
//	defer c.Close()
//	settings, err := c.Settings(ctx)
//
// Nothing here writes to the server. A password is sent to the server that was
// asked for and to nobody else: no error and no printed form of [Options] holds
// it. A server is not trusted with more than that: whatever it sends, nothing
// here panics.
package server
