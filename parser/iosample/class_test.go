package iosample

import "testing"

// Names are those of real servers' files.
func TestClassify(t *testing.T) {
	for name, want := range map[string]Class{
		// MySQL 5.7, 8.0, 8.4, 9.7.
		"mysql-bin.000001":                Binlog,
		"./binlog.000042":                 Binlog,
		"/var/log/mysql/binlog.1000000":   Binlog,
		"binlog.000001 (deleted)":         Binlog,
		"binlog.index":                    Other,
		"binlog.00001":                    Other,
		"binlog.000001.gz":                Other,
		"binlog.~rec~":                    Other,
		"mysql-relay-bin.000003":          Relay,
		"host-relay-bin-channel1.000002":  Relay,
		"/relay/binlog.000002":            Binlog, // the directory says nothing
		"mysql-relay-bin.index":           Other,
		"ib_logfile0":                     Redo,
		"ib_logfile1":                     Redo,
		"ib_logfile101":                   Redo,
		"#innodb_redo/#ib_redo12":         Redo,
		"#innodb_redo/#ib_redo12_tmp":     Redo,
		"#ib_16384_0.dblwr":               Doublewrite,
		"#ib_16384_1.bdblwr":              Doublewrite,
		"#ib_4096_15.dblwr":               Doublewrite,
		"xb_doublewrite":                  Doublewrite,
		"undo_001":                        Undo,
		"undo_002":                        Undo,
		"undo001":                         Undo,
		"mine.ibu":                        Undo,
		"undo_1_trunc.log":                Other,
		"mysql.ibd":                       Data,
		"shop/orders.ibd":                 Data,
		"shop/t#P#p0.ibd":                 Data,
		"shop/t#p#p0#sp#s1.ibd":           Data,
		"shop/@0024binlog@002e000001.ibd": Data,
		"ibdata1":                         Data,
		"ibdata12":                        Data,
		"mysql/user.frm":                  Data,
		"mysql/user.MYD":                  Data,
		"mysql/user.MYI":                  Data,
		"ibtmp1":                          Other,
		"#innodb_temp/temp_10.ibt":        Other,
		"ib_buffer_pool":                  Other,
		"/tmp/#745531 (deleted)":          Other,
		"auto.cnf":                        Other,
		"mysql/general_log.CSV":           Other,
		"p_s/threads_109.sdi":             Other,
		"mysqld-error.log":                Other,
		"archive.000001.log":              Other,

		// MariaDB 10.4, 10.11, 11.8.
		"mariadb-bin.000001":                Binlog,
		"mariadb-bin.000002.idx":            Other,
		"mariadb-bin.state":                 Other,
		"mysqld-relay-bin.000004 (deleted)": Relay,
		"aria_log.00000001":                 Other, // eight digits, and no binlog
		"aria_log_control":                  Other,
		"ddl_recovery.log":                  Other,
		"ddl_log.log":                       Other,
		"multi-master.info":                 Other,
		"tc.log":                            Other,
		"undo003":                           Undo,
		"mysql/servers.MAD":                 Data,
		"mysql/servers.MAI":                 Data,
		"ib_logfile0 (deleted)":             Redo,
		"":                                  Other,
		"/":                                 Other,
	} {
		if got := Classify(name, nil); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	isRelay := func(base string) bool { return base == "slave.000001" }
	for name, want := range map[string]Class{
		"/d/slave.000001":   Relay,
		"/d/slave.00000001": Binlog,
		"relay.000001":      Binlog, // asked, and denied
		"aria_log.00000001": Other,
	} {
		if got := Classify(name, isRelay); got != want {
			t.Errorf("%s, where asked: got %s, want %s", name, got, want)
		}
	}
}
