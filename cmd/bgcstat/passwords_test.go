package main

import (
	"slices"
	"testing"
)

func TestWithoutPasswords(t *testing.T) {
	for _, test := range []struct{ command, want []string }{
		{[]string{"sysbench", "--mysql-password=geheim", "--threads=8", "run"}, []string{"sysbench", "--mysql-password=***", "--threads=8", "run"}},
		{[]string{"/usr/bin/mysqlslap", "-pgeheim", "-uroot", "--password=x y"}, []string{"/usr/bin/mysqlslap", "-p***", "-uroot", "--password=***"}},
		{[]string{"sysbench", "-p8"}, []string{"sysbench", "-p8"}},
		{[]string{"sh", "-c", "MYSQL_PWD='a b' mysql; sysbench --pgsql-password=x run"}, []string{"sh", "-c", "MYSQL_PWD=*** mysql; sysbench --pgsql-password=*** run"}},
		{[]string{"go-tpc", "root:geheim@tcp(db:4000)/x", "mysql://u:p@h/d"}, []string{"go-tpc", "root:***@tcp(db:4000)/x", "mysql://u:***@h/d"}},
		{[]string{"x", "root:ge:he/im@unix(/s)/d", "root:ge@heim@/d", "mysql://u:ge/h@eim@h/d", "jdbc:mysql://h/d?user=u&password=geheim&x=1"}, []string{"x", "root:***@unix(/s)/d", "root:***@/d", "mysql://u:***@h/d", "jdbc:mysql://h/d?user=u&password=***&x=1"}},
		{[]string{"timeout", "60", "mysqlslap", "-pgeheim"}, []string{"timeout", "60", "mysqlslap", "-p***"}},
		{[]string{"sh", "-c", "mysql -uroot -pgeheim -e x; /usr/bin/mysqlslap -p'ge heim' --port=1"}, []string{"sh", "-c", "mysql -uroot -p*** -e x; /usr/bin/mysqlslap -p*** --port=1"}},
		{[]string{"go-tpc", "-p", "geheim", "--password", "geheim", "-T", "8"}, []string{"go-tpc", "-p", "***", "--password", "***", "-T", "8"}},
		{[]string{"sh", "-c", "go-tpc --password geheim --time 8"}, []string{"sh", "-c", "go-tpc --password *** --time 8"}},
		{[]string{"ycsb", "-p", "db.passwd=geheim", "-Dmysql.password=geheim"}, []string{"ycsb", "-p", "***", "-Dmysql.password=***"}},
		{[]string{"mysql", "-p", "--host=h", "-P", "3306", "db"}, []string{"mysql", "-p", "--host=h", "-P", "3306", "db"}},
		// MySQL's clients have a password for each factor, and take options in one word.
		{[]string{"mysqlslap", "--password1=geheim", "-vpgeheim", "-hprod"}, []string{"mysqlslap", "--password1=***", "-vp***", "-hprod"}},
		{[]string{"tpcc_start", "-h127.0.0.1", "-uroot", "-pgeheim", "-w10"}, []string{"tpcc_start", "-h127.0.0.1", "-uroot", "-p***", "-w10"}},
		{[]string{"env", "MYSQL_PWD=ge heim", "sysbench", "run"}, []string{"env", "MYSQL_PWD=***", "sysbench", "run"}},
		{[]string{"sh", "-c", `mysql -pge=heim; MYSQL_PWD=ge\ heim PWD2='ge'\''heim' sysbench --mysql-password="ge\"heim" run`}, []string{"sh", "-c", `mysql -p***; MYSQL_PWD=*** PWD2=*** sysbench --mysql-password=*** run`}},
		{[]string{"mysqlslap", "--create=CREATE USER x IDENTIFIED WITH mysql_native BY 'ge heim'", "-q", "SET PASSWORD = 'ge heim'"}, []string{"mysqlslap", "--create=CREATE USER x IDENTIFIED WITH mysql_native BY ***", "-q", "SET PASSWORD = ***"}},
		{[]string{"mysqlsh", "root:geheim@localhost:3306/d", "--uri=root:geheim@[::1]"}, []string{"mysqlsh", "root:***@localhost:3306/d", "--uri=root:***@[::1]"}},
		{[]string{"x", `u?password=ge"heim&x=1`}, []string{"x", "u?password=***&x=1"}}, // a quote that is not closed
		{[]string{"pt-archiver", "--source", "h=db,u=root,p=geheim,D=x"}, []string{"pt-archiver", "--source", "h=db,u=root,p=***,D=x"}},
		{[]string{"hammerdbcli", "dbset", "mysql_pass", "geheim", `{"password": "geheim"}`}, []string{"hammerdbcli", "dbset", "mysql_pass", "***", `{"password": ***`}},
		{[]string{"sh", "-c", "sysbench oltp_update_index --threads=8 run > /tmp/out:1; date"}, []string{"sh", "-c", "sysbench oltp_update_index --threads=8 run > /tmp/out:1; date"}},
		{[]string{"sysbench", "oltp_update_index", "--mysql-socket=/run/s", "--mysql-port=3306", "run"}, []string{"sysbench", "oltp_update_index", "--mysql-socket=/run/s", "--mysql-port=3306", "run"}},
	} {
		if got := withoutPasswords(test.command); !slices.Equal(got, test.want) {
			t.Errorf("%q: %q, want %q", test.command, got, test.want)
		}
	}
}
