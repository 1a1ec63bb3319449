package server

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// settings are the server's variables that a report on commits may need. No
// server has all of them.
var settings = []string{
	"version", "version_comment", "aurora_version", "server_id", "server_uuid", "hostname", "port", "socket", "pid_file", "datadir",
	"log_bin", "log_bin_basename", "log_bin_index", "binlog_format", "binlog_row_image", "max_binlog_size", "gtid_mode",
	"binlog_transaction_compression", "log_bin_compress", "binlog_encryption", "encrypt_binlog",
	"sync_binlog", "innodb_flush_log_at_trx_commit", "innodb_flush_method", "innodb_use_fdatasync", "innodb_doublewrite",
	"binlog_order_commits", "binlog_group_commit_sync_delay", "binlog_group_commit_sync_no_delay_count",
	"binlog_commit_wait_count", "binlog_commit_wait_usec",
	"binlog_transaction_dependency_tracking", "binlog_transaction_dependency_history_size", "transaction_write_set_extraction",
	"innodb_buffer_pool_size", "innodb_redo_log_capacity", "innodb_log_file_size", "innodb_io_capacity",
	"rpl_semi_sync_source_enabled", "rpl_semi_sync_master_enabled", "log_replica_updates", "log_slave_updates",
	"binlog_checksum", "performance_schema",
}

// Settings returns the global values of the variables that bear on commits, by
// their names, as the server writes them. Those that the server does not have
// are absent. It needs no privilege.
func (c *Conn) Settings(ctx context.Context) (map[string]string, error) {
	rows, err := c.Query(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('"+strings.Join(settings, "', '")+"')")
	if err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	values := make(map[string]string, len(rows))
	for _, row := range rows {
		values[row["Variable_name"]] = row["Value"]
	}
	return values, nil
}

// Position returns the server's own position in its binlog: the name of the
// file that it writes, without a directory, and the offset where the next
// event goes. MySQL wants a privilege for it. MariaDB tells those without one
// where the last commit ends, which may lag behind what is being written.
func (c *Conn) Position(ctx context.Context) (file string, offset int64, err error) {
	file, offset, _, err = c.Status(ctx)
	return file, offset, err
}

// Status is Position, and MySQL's set of the GTIDs of all transactions that
// are committed, which may lag behind the position by those that are under way.
func (c *Conn) Status(ctx context.Context) (file string, offset int64, executed string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("binlog position: %w", err)
		}
	}()
	sql := "SHOW MASTER STATUS"
	if c.version.Flavor == MySQL && c.version.AtLeast(8, 2) {
		sql = "SHOW BINARY LOG STATUS"
	}
	rows, err := c.Query(ctx, sql)
	if _, refused := errors.AsType[*PrivilegeError](err); refused && c.version.Flavor == MariaDB {
		snapshot, other := c.snapshot(ctx)
		if other != nil {
			return "", 0, "", other
		}
		if snapshot != nil {
			rows, err = []Row{snapshot}, nil
		}
	}
	if err != nil {
		return "", 0, "", err
	}
	if len(rows) == 0 {
		return "", 0, "", errors.New("the server writes no binlog")
	}
	offset, err = strconv.ParseInt(rows[0]["Position"], 10, 64)
	return rows[0]["File"], offset, rows[0]["Executed_Gtid_Set"], err
}

// snapshot is MariaDB's position for everybody, in the columns of SHOW MASTER
// STATUS; nil if the server does not tell.
func (c *Conn) snapshot(ctx context.Context) (Row, error) {
	rows, err := c.Query(ctx, "SHOW GLOBAL STATUS LIKE 'Binlog\\_snapshot%'")
	if err != nil {
		return nil, err
	}
	values := Row{}
	for _, row := range rows {
		values[strings.ToLower(row["Variable_name"])] = row["Value"]
	}
	if values["binlog_snapshot_file"] == "" {
		return nil, nil
	}
	return Row{"File": values["binlog_snapshot_file"], "Position": values["binlog_snapshot_position"]}, nil
}
