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
	} {
		if got := withoutPasswords(test.command); !slices.Equal(got, test.want) {
			t.Errorf("%q: %q, want %q", test.command, got, test.want)
		}
	}
}
