#!/bin/bash
# make.sh [SET...]
#
# Makes the binlogs in testdata/binlog on real servers: all sets, or those named. As root, for chroot. Each set is made
# anew: server UUIDs, times, positions and the groups that happen to form differ from run to run; what a set is there to
# show does not, and is checked where it can be.
#
# A set is a directory with
#   the binlog files, under the server's own names
#   own.tsv    one line per GTID event, from the server's own mysqlbinlog (see own() below): what our parser is held against
#   README.md  version, statements, what is to be seen
#
# Servers: MySQL 9.7 in the tree $BGCSTAT_MYSQL97_ROOT (default /opt/mysql-9.7), MariaDB 11.8 in $BGCSTAT_MARIADB118_ROOT
# (default /opt/mariadb-11.8), MariaDB 10.11 in PATH. Also needed: gzip, zstd, awk.
set -euo pipefail
export LC_ALL=C
out=$(cd "$(dirname "$0")" && pwd)/binlog

# --- servers ---------------------------------------------------------------------------------------------------------------

declare root server client binlog base datadir dir pid record args product

# start KIND ARG... starts a server of that kind with extra arguments, in a fresh directory, and waits until it answers.
start() {
  local kind=$1 sys
  shift
  args="$*" record=
  base=mariadb-bin
  case $kind in
    mysql-9.7)
      root=${BGCSTAT_MYSQL97_ROOT:-/opt/mysql-9.7} base=binlog
      server=/usr/sbin/mysqld client=/usr/bin/mysql binlog=/usr/bin/mysqlbinlog ;;
    mariadb-11.8)
      root=${BGCSTAT_MARIADB118_ROOT:-/opt/mariadb-11.8} sys=/usr/share/mariadb/mariadb_
      server=/usr/sbin/mariadbd client=/usr/bin/mariadb binlog=/usr/bin/mariadb-binlog ;;
    mariadb-10.11)
      root=/ sys=/usr/share/mysql/mysql_
      server=/usr/sbin/mariadbd client=/usr/bin/mariadb binlog=/usr/bin/mariadb-binlog ;;
  esac
  product=$(inside "$server" --no-defaults --version | sed 's/.*Ver \([0-9.]*\).*/\1/')
  case $kind in mysql*) product="MySQL $product" ;; *) product="MariaDB $product" ;; esac
  mkdir -p "${root%/}/tmp"
  dir=$(mktemp -d "${root%/}/tmp/bgcstat-make-XXXXXX")
  datadir=$dir/data
  local common=(--no-defaults --user=root --datadir="$(seen "$datadir")" --log-error="$(seen "$dir/error.log")")
  if [ "$kind" = mysql-9.7 ]; then
    common+=(--mysqlx=OFF --secure-file-priv=NULL --innodb-redo-log-capacity=8M)
    inside "$server" "${common[@]}" --initialize-insecure
  else
    mkdir "$datadir"
    # One statement a line: so it must be here.
    { printf '%s;\n' "CREATE DATABASE mysql" "USE mysql" "SET @auth_root_socket=NULL"
      cat "${root%/}$sys"{system_tables,performance_tables,system_tables_data}.sql
    } | inside "$server" "${common[@]}" --bootstrap --enforce-storage-engine= >"$dir/bootstrap.log" 2>&1
  fi
  # exec, so that the process id is the server's and not a shell's.
  exec_inside "$server" "${common[@]}" --socket="$(seen "$dir/sock")" --pid-file="$(seen "$dir/pid")" --skip-networking \
    --server-id=1 --log-bin="$base" "$@" >>"$dir/error.log" 2>&1 &
  pid=$!
  for ((i = 0; ; i++)); do
    run <<<"SELECT 1" >/dev/null 2>&1 && break
    if ((i > 600)) || ! kill -0 $pid 2>/dev/null; then tail -20 "$dir/error.log" >&2; exit 1; fi
    sleep 0.1
  done
}

# inside CMD... runs a command in the server's tree; exec_inside becomes it.
inside() { (exec_inside "$@"); }
exec_inside() { if [ "$root" = / ]; then exec "$@"; else exec chroot "$root" "$@"; fi; }

# seen PATH prints a host path as the server's tree sees it.
seen() { if [ "$root" = / ]; then echo "$1"; else echo "${1#"$root"}"; fi; }

# run runs the SQL on standard input in one session.
run() { inside "$client" --no-defaults --user=root --socket="$(seen "$dir/sock")" --batch --skip-column-names "$@"; }

# sql is run, and the statements go into the set's README.
sql() {
  local text
  text=$(cat)
  record+=$'\n```sql\n'$text$'\n```\n'
  run <<<"$text" >/dev/null
}

# clients N GENERATOR ARG... runs N sessions at once, the i-th with the SQL that GENERATOR i ARG... prints. They begin
# together. The generator goes into the README.
clients() {
  local n=$1 gen=$2 i at jobs=()
  shift 2
  record+=$'\n'"$n clients at once, the i-th runs what \`$gen i${*:+ $*}\` prints:"$'\n\n```bash\n'$(declare -f "$gen" | sed 's/ *$//')$'\n```\n'
  at=$(awk -v now="$(date +%s.%N)" 'BEGIN { printf "%.3f", now + 0.5 }')
  for ((i = 1; i <= n; i++)); do
    { echo "DO SLEEP($at - UNIX_TIMESTAMP(NOW(6)));"; "$gen" "$i" "$@"; } | run >/dev/null &
    jobs+=($!)
  done
  for i in "${jobs[@]}"; do wait "$i"; done
}

# reset empties the binlog, so that what came before is not in the set.
reset() {
  if [ $base = binlog ]; then run <<<"RESET BINARY LOGS AND GTIDS"; else run <<<"RESET MASTER"; fi
  record+=$'\nThen the binlog is emptied, and the set begins.\n'
}

# stop shuts the server down cleanly.
stop() { kill -TERM "$pid"; wait "$pid" || true; pid=; }

cleanup() { if [ -n "${pid:-}" ]; then kill -KILL "$pid" || true; wait "$pid" || true; fi 2>/dev/null; rm -rf "${dir:-}"; pid='' dir=''; }
trap cleanup EXIT
trap 'echo "make.sh: line $LINENO failed" >&2; tail -n 5 "$dir/error.log" >&2' ERR
set -o errtrace

# --- sets ------------------------------------------------------------------------------------------------------------------

# take FILE... puts binlog files (paths on the host) and their own.tsv into the set's directory.
take() {
  cp "$@" "$out/$set/"
  chmod 644 "$out/$set"/*
  own "$out/$set" $(basename -a "$@")
}

# logs prints the server's binlog files in log order.
logs() { sed "s,.*/,$datadir/," "$datadir/$base.index"; }

# expect N stops if the set's own.tsv has not N transactions.
expect() {
  local n=$(($(wc -l <"$out/$set/own.tsv") - 1))
  [ "$n" = "$1" ] || { echo "make.sh: $set has $n transactions, not $1" >&2; exit 1; }
}

# own DIR FILE... writes DIR/own.tsv: one line per GTID event of the files, with
#   file             name of the binlog
#   start_pos        offset of the GTID event
#   gtid             as the server's tool prints it; ANONYMOUS without one
#   last_committed   MySQL
#   sequence_number  MySQL
#   commit_id        MariaDB, as "cid="; empty: no group
#   thread_id        of the GTID event (MariaDB 11.5 and later), else of the transaction's first Query event (BEGIN or DDL
#                    in MySQL); empty: neither is there
#   end_pos          end of the transaction's last event, the payload event if it is compressed; empty: log ends before it
own() {
  local d=$1 f
  shift
  cp "${@/#/$d/}" "$dir/"
  printf '%s\t' file start_pos gtid last_committed sequence_number commit_id thread_id >"$d/own.tsv"
  echo end_pos >>"$d/own.tsv"
  for f; do
    # A cut log makes the tool fail after what it could read.
    { inside "$binlog" --no-defaults --base64-output=DECODE-ROWS --verbose "$(seen "$dir/$f")" || true; } 2>/dev/null >"$dir/text"
    awk -v file="$f" -v size="$(stat -c %s "$d/$f")" '
      function flush(cut) {
        if (start != "") print file, start, gtid, last, seq, cid, thread, (cut ? "" : end)
        start = ""
      }
      function number(key) { return match(name, key "[0-9]+") ? substr(name, RSTART + length(key), RLENGTH - length(key)) : "" }
      BEGIN { OFS = "\t" }
      /^# at [0-9]+$/ { at = $3 }
      /^#[0-9][0-9][0-9][0-9][0-9][0-9] .* server id [0-9]+ +end_log_pos [0-9]+/ {
        name = $0
        pos = number("end_log_pos ")
        sub(/.*end_log_pos [0-9]+[ \t]+/, "", name)
        sub(/^CRC32 0x[0-9a-f]+[ \t]+/, "", name)
        if (name ~ /^(GTID|Anonymous_GTID)[ \t]/) {
          flush()
          start = at
          split(name, w, /[ \t]+/)
          gtid = w[2] ~ /^[0-9]+-[0-9]+-[0-9]+$/ ? w[2] : ""
          last = number("last_committed="); seq = number("sequence_number=")
          cid = number("cid="); thread = number("thread_id=")
          end = pos
        } else if (name ~ /^(Format_desc|Start: |Previous-GTIDs|Rotate|Stop|Gtid list|Binlog checkpoint)/) {
          flush()
        } else if (start != "") {
          end = pos; kind = name
          if (thread == "" && name ~ /^Query/) thread = number("thread_id=")
        }
      }
      /^SET @@SESSION.GTID_NEXT= / && gtid == "" { split($0, w, "\047"); gtid = w[2] }
      # Bytes after the last whole event: the log is cut, and unless a commit stands there, so is the transaction.
      END { flush(end < size && kind !~ /^(Xid|XA|Transaction_Payload)/) }
    ' "$dir/text" >>"$d/own.tsv"
  done
}

# readme writes the set's README.md: what standard input says, framed.
readme() {
  {
    echo "# $set"
    echo
    echo "$product, started with \`--server-id=1 --log-bin=$base${args:+ $args}\`, all else that bears on the log at its default."
    echo
    cat
    [ -z "$record" ] || printf '\n## Statements\n%s' "$record"
  } >"$out/$set/README.md"
}

# A sysbench-like load of 4 clients: phase 1 slow, phase 2 as fast as it goes, phase 3 nothing for a second, then medium.
row_client() {
  local i=$1
  awk -v i="$i" 'BEGIN {
    srand(i)
    print "USE shop;"
    for (n = 0; n < 75; n++) {
      if (n < 20) pause = 0.05 + 0.10 * rand()
      else if (n < 55) pause = 0
      else if (n == 55) pause = 1.0
      else pause = 0.08 + 0.10 * rand()
      if (pause) printf "DO SLEEP(%.3f);\n", pause
      t = int(1 + 3 * rand()); id = int(1 + 200 * rand()); r = rand()
      if (r < 0.15) printf "INSERT INTO sbtest%d (k, c) VALUES (%d, LEFT(SHA2(%d, 224), 32));\n", t, 1000 * rand(), n
      else if (r < 0.22) printf "DELETE FROM sbtest%d WHERE id = %d;\n", t, 200 + 8 * n + i
      else if (r < 0.40) {
        print "BEGIN;"
        printf "UPDATE sbtest%d SET k = k + 1 WHERE id = %d;\n", t, id
        printf "INSERT INTO sbtest%d (k, c) VALUES (%d, LEFT(SHA2(%d, 224), 32));\n", t % 3 + 1, 1000 * rand(), n
        print "COMMIT;"
      } else if (r < 0.70) printf "UPDATE sbtest%d SET k = k + 1 WHERE id = %d;\n", t, id
      else printf "UPDATE sbtest%d SET c = LEFT(SHA2(%d, 224), 32) WHERE id = %d;\n", t, n, id
    }
  }'
}
mysql-9.7-row() {
  start mysql-9.7
  sql <<'SQL'
CREATE DATABASE shop;
USE shop;
CREATE TABLE sbtest1 (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL, c CHAR(32) NOT NULL, KEY (k));
CREATE TABLE sbtest2 LIKE sbtest1;
CREATE TABLE sbtest3 LIKE sbtest1;
INSERT INTO sbtest1 (k, c) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 800) SELECT i, LEFT(SHA2(i, 224), 32) FROM n;
INSERT INTO sbtest2 (k, c) SELECT k, c FROM sbtest1;
INSERT INTO sbtest3 (k, c) SELECT k, c FROM sbtest1;
SQL
  reset
  clients 4 row_client
  stop
  take $(logs)
  expect 300
  readme <<'MD'
A typical server: ROW format, full row images, sync_binlog=1, GTIDs on (all defaults). Four clients insert, update and delete
in three tables for about six seconds: slow, then as fast as it goes, then a second of silence, then slow again. Closed
cleanly.
MD
}

# Client i updates rows that only it updates, in two tables, some transactions with two statements.
update_client() {
  local i=$1 transactions=$2
  echo "USE shop;"
  for ((n = 0; n < transactions; n++)); do
    local t=$((n % 2 + 1)) id=$((i * 100 + n))
    if ((n % 4 == 3)); then
      echo "BEGIN; UPDATE t1 SET k = k + 1 WHERE id = $id; UPDATE t2 SET k = k + 1 WHERE id = $id; COMMIT;"
    else
      echo "UPDATE t$t SET k = k + 1 WHERE id = $id;"
    fi
  done
}
two_tables() {
  sql <<'SQL'
CREATE DATABASE shop;
USE shop;
CREATE TABLE t1 (id INT NOT NULL PRIMARY KEY, k INT NOT NULL) ENGINE=InnoDB;
CREATE TABLE t2 LIKE t1;
INSERT INTO t1 WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT i, 0 FROM n;
INSERT INTO t2 SELECT * FROM t1;
SQL
}

# two_halves makes 104 transactions of clients that never wait for each other's
# rows, the second half with a sync delay, and takes the log.
two_halves() {
  reset
  clients 8 update_client 6
  sql <<<"SET GLOBAL binlog_group_commit_sync_delay = 1000;"
  clients 8 update_client 7
  stop
  take $(logs)
  expect 104
}

mysql-9.7-commit-order() {
  start mysql-9.7 --sync-binlog=1 --binlog-row-image=MINIMAL
  two_tables
  sql <<<"SET GLOBAL binlog_transaction_dependency_history_size = 1;"
  two_halves
  readme <<'MD'
Eight clients that never wait for each other's rows; the second half with a sync delay of 1000 µs, so that nearly all share
a sync. With a dependency history of one row the server falls back to the commit-order parent: last_committed is that of a
COMMIT_ORDER server, save for a few transactions. 104 transactions.
MD
}

mysql-9.7-writeset() {
  start mysql-9.7 --sync-binlog=1 --binlog-row-image=MINIMAL
  two_tables
  two_halves
  readme <<'MD'
The load of mysql-9.7-commit-order with the dependency history at its default, as every current server has it: no
transaction of one half touches another's row, so last_committed says next to nothing of groups. 104 transactions.
MD
}

# Client i commits in a loop, with a pause after every fifth transaction.
maria_client() {
  local i=$1 transactions=$2
  echo "USE shop;"
  for ((n = 0; n < transactions; n++)); do
    echo "UPDATE t$((n % 2 + 1)) SET k = k + 1 WHERE id = $((i * 100 + n));"
    ((n % 5 != 4)) || echo "DO SLEEP(0.0$i);"
  done
}
maria_load() {
  two_tables
  sql <<'SQL'
SET GLOBAL binlog_commit_wait_count = 4;
SET GLOBAL binlog_commit_wait_usec = 5000;
SQL
  reset
  clients 8 maria_client 12
  sql <<'SQL'
SET GLOBAL binlog_commit_wait_count = 0;
USE shop;
CREATE TABLE m (id INT PRIMARY KEY) ENGINE=MyISAM;
INSERT INTO m VALUES (1), (2);
UPDATE t1 SET k = 7 WHERE id = 1;
INSERT INTO t2 VALUES (2001, 1);
BEGIN; UPDATE t1 SET k = 8 WHERE id = 1; UPDATE t2 SET k = 8 WHERE id = 1; COMMIT;
XA START 'one'; UPDATE t1 SET k = 9 WHERE id = 2; XA END 'one'; XA PREPARE 'one'; XA COMMIT 'one';
XA START 'two', 'branch', 7; UPDATE t1 SET k = 9 WHERE id = 3; XA END 'two', 'branch', 7; XA PREPARE 'two', 'branch', 7;
XA ROLLBACK 'two', 'branch', 7;
XA START 'three'; UPDATE t1 SET k = 9 WHERE id = 4; XA END 'three'; XA COMMIT 'three' ONE PHASE;
CREATE TABLE s (id INT PRIMARY KEY, c VARCHAR(2000)) ENGINE=InnoDB;
CREATE TABLE copy SELECT * FROM t1 WHERE id < 4;
ALTER TABLE s ADD COLUMN d INT;
ANALYZE TABLE s;
TRUNCATE TABLE s;
SET GLOBAL log_bin_compress = ON;
INSERT INTO s VALUES (1, REPEAT('abc', 300), 1);
UPDATE s SET d = 2 WHERE id = 1;
DELETE FROM s WHERE id = 1;
INSERT INTO s VALUES (1, 'a short row', 1);
SET SESSION binlog_format = STATEMENT;
UPDATE s SET c = CONCAT(c, ' and a text that is here to make the statement longer than 256 bytes, below which nothing is compressed: well then, 256 bytes take a while to fill, and this statement is not quite there yet, but a few words more, and it will be, with some to spare') WHERE id = 1;
INSERT INTO s VALUES (2, 'short', 3);
SET SESSION binlog_format = ROW;
SET GLOBAL log_bin_compress = OFF;
CREATE USER u@localhost;
GRANT SELECT ON shop.* TO u@localhost;
DROP TABLE copy;
SQL
}
mariadb-10.11() {
  start mariadb-10.11 --binlog-format=ROW --sync-binlog=1
  maria_load
  stop
  take $(logs)
  expect 120
  readme <<'MD'
96 transactions of eight clients in groups of up to four and more (runs of one commit id; a transaction without one is a
group of its own), then a single client: lone commits, DDL, a MyISAM insert (ends in a COMMIT query), XA, CREATE TABLE …
SELECT, and with log_bin_compress compressed rows events and a compressed statement (events
whose row or statement is below 256 bytes stay uncompressed).
MD
}

# Ten lone commits, one every 50 ms.
insert_client() {
  echo "DO SLEEP(0.2);"
  for n in 1 2 3 4 5 6 7 8 9 10; do echo "INSERT INTO shop.t2 VALUES ($((3000 + n)), 0); DO SLEEP(0.05);"; done
}
# ALTERs that take a while (one fails, on a duplicate), written in two phases, beside insert_client.
alter_client() {
  if [ "$1" = 1 ]; then insert_client; return; fi
  echo "SET SESSION binlog_alter_two_phase = ON;"
  echo "ALTER TABLE big.t ADD COLUMN x INT, ALGORITHM=COPY;"
  echo "ALTER TABLE big.t ADD UNIQUE (same), ALGORITHM=COPY;"
}
mariadb-11.8() {
  start mariadb-11.8 --binlog-format=ROW --sync-binlog=1
  sql <<'SQL'
CREATE DATABASE big;
USE big;
CREATE TABLE t (id INT PRIMARY KEY, same INT NOT NULL) ENGINE=InnoDB;
INSERT INTO t SELECT seq, IF(seq > 299998, 0, seq) FROM seq_1_to_300000;
SQL
  maria_load
  sql <<<"FLUSH BINARY LOGS;"
  clients 2 alter_client || true # the second ALTER fails, as it should
  stop
  take $(logs)
  expect 134
  readme <<'MD'
As mariadb-10.11, but GTID events carry the thread id, and log_pos in the header is 0 in every event of a transaction but its
GTID event and its terminator; and a second file, begun by FLUSH BINARY LOGS, with ALTER TABLE in two
phases, one committed and one rolled back, and other transactions between the phases.
MD
}

mysql-9.7-ddl-xa() {
  start mysql-9.7 --gtid-mode=ON --enforce-gtid-consistency=ON
  sql <<'SQL'
CREATE DATABASE d;
USE d;
CREATE TABLE a (id INT PRIMARY KEY, k INT);
CREATE TABLE b (id INT PRIMARY KEY, k INT);
CREATE TABLE nokey (k INT, v INT);
INSERT INTO a VALUES (1, 0), (2, 0), (3, 0), (4, 0);
INSERT INTO nokey VALUES (1, 1), (1, 1), (2, 2);
UPDATE nokey SET v = 3 WHERE k = 1;
DELETE FROM nokey WHERE k = 2;
ALTER TABLE a ADD COLUMN c VARCHAR(10);
ALTER TABLE a ADD INDEX (k), ALGORITHM=COPY;
CREATE TABLE copy SELECT id, k FROM a;
CREATE TABLE copy2 (PRIMARY KEY (id)) SELECT id, k FROM a WHERE id < 3;
DROP TABLE copy, copy2;
BEGIN; INSERT INTO b SELECT id, k FROM a; UPDATE a SET k = 1 WHERE id = 1; UPDATE b SET k = 1 WHERE id = 1; DELETE FROM b WHERE id = 4; COMMIT;
BEGIN; UPDATE a SET k = 2 WHERE id = 1; SAVEPOINT sp; UPDATE b SET k = 2 WHERE id = 1; ROLLBACK TO sp; UPDATE a SET k = 3 WHERE id = 2; COMMIT;
BEGIN; UPDATE a SET k = 9 WHERE id = 1; ROLLBACK;
BEGIN; UPDATE a SET k = 9 WHERE id = 12345; COMMIT;
XA START 'one'; UPDATE a SET k = 4 WHERE id = 1; XA END 'one'; XA PREPARE 'one';
XA COMMIT 'one';
XA START 'two', 'branch', 7; UPDATE a SET k = 5 WHERE id = 2; XA END 'two', 'branch', 7; XA PREPARE 'two', 'branch', 7;
XA ROLLBACK 'two', 'branch', 7;
XA START 'three'; UPDATE a SET k = 6 WHERE id = 3; XA END 'three'; XA COMMIT 'three' ONE PHASE;
XA START 'four'; UPDATE a SET k = 6 WHERE id = 4; XA END 'four'; XA ROLLBACK 'four';
ANALYZE TABLE a;
OPTIMIZE TABLE a;
CREATE TABLE m (id INT PRIMARY KEY) ENGINE=MyISAM;
INSERT INTO m VALUES (1), (2);
SET gtid_next = 'AUTOMATIC:tag';
INSERT INTO a VALUES (10, 0, 'tagged');
CREATE TABLE tagged (id INT);
BEGIN; INSERT INTO a VALUES (11, 0, 'tagged'); UPDATE b SET k = 11 WHERE id = 2; COMMIT;
SET gtid_next = 'AUTOMATIC:tag_of_32_bytes_that_is_the_most';
INSERT INTO a VALUES (12, 0, 'tagged');
SET gtid_next = 'AUTOMATIC';
CREATE TABLE times (id INT PRIMARY KEY, at DATETIME(6), done TIMESTAMP(3));
INSERT INTO times VALUES (1, NOW(6), NOW(3));
SET timestamp = 1700000000.123456;
INSERT INTO times VALUES (2, NOW(6), NOW(3));
SET timestamp = DEFAULT;
TRUNCATE TABLE times;
CREATE USER u@localhost IDENTIFIED BY 'not a secret';
GRANT SELECT, INSERT ON d.* TO u@localhost;
CREATE VIEW v AS SELECT * FROM a;
CREATE TRIGGER tr AFTER INSERT ON a FOR EACH ROW INSERT INTO b VALUES (NEW.id + 100, NEW.k);
INSERT INTO a VALUES (20, 1, 'trigger');
INSERT INTO a VALUES (20, 1, 'dup') ON DUPLICATE KEY UPDATE k = 2;
REPLACE INTO b VALUES (1, 77);
SET SESSION binlog_rows_query_log_events = ON;
UPDATE a SET k = 12 WHERE id = 10;
CREATE TEMPORARY TABLE tmp (id INT);
DROP TEMPORARY TABLE tmp;
DROP DATABASE d;
SQL
  stop
  take $(logs)
  expect 42
  readme <<'MD'
One client; one of everything that ends a transaction otherwise than a plain update does. Worth a look:

- CREATE TABLE … SELECT is one transaction: BEGIN, the query CREATE TABLE … START TRANSACTION, rows, Xid.
- XA PREPARE ends a transaction of its own (XA_PREPARE event), and so does the later XA COMMIT or XA ROLLBACK (one query); in
  one phase it is one transaction whose XA_PREPARE event says so. An XA ROLLBACK of what was not prepared leaves nothing.
- The MyISAM insert ends in a COMMIT query. DROP DATABASE drops that table in a transaction of its own first.
- Of a SAVEPOINT rolled back to, the SAVEPOINT query stays and what followed it is gone.
- A tagged GTID makes a GTID_TAGGED event (type 42) in place of type 33.
- ROLLBACK leaves nothing; neither does an update that finds no row.
- A trigger's rows stand in the transaction of the statement that fired it.
MD
}

mysql-9.7-compressed() {
  start mysql-9.7 --binlog-transaction-compression=ON
  two_tables
  reset
  sql <<'SQL'
USE shop;
INSERT INTO t1 SELECT id + 5000, k FROM t2;
BEGIN; UPDATE t1 SET k = 1 WHERE id < 20; UPDATE t2 SET k = 2 WHERE id < 20; DELETE FROM t1 WHERE id BETWEEN 900 AND 920; COMMIT;
CREATE TABLE t3 LIKE t1;
INSERT INTO t3 SELECT * FROM t1 WHERE id < 50;
CREATE TABLE t4 SELECT * FROM t3;
SET SESSION binlog_transaction_compression = OFF;
UPDATE t1 SET k = 3 WHERE id = 1;
SET SESSION binlog_transaction_compression = ON;
UPDATE t1 SET k = 4 WHERE id = 1;
XA START 'x'; UPDATE t1 SET k = 5 WHERE id = 1; XA END 'x'; XA PREPARE 'x';
XA COMMIT 'x';
INSERT INTO t2 VALUES (9999, 0);
SQL
  clients 2 update_client 5
  stop
  take $(logs)
  expect 20
  readme <<'MD'
20 transactions. Most are a GTID event and one TRANSACTION_PAYLOAD event, which holds BEGIN, rows and Xid, or XA START to XA
PREPARE. Not compressed: DDL, CREATE TABLE … SELECT with its rows, XA COMMIT, and one update with compression switched off in
the session. The first is large: 1000 rows.
MD
}

mysql-9.7-rotation() {
  start mysql-9.7
  sql <<'SQL'
CREATE DATABASE shop;
USE shop;
CREATE TABLE t1 (id INT NOT NULL PRIMARY KEY, k INT NOT NULL);
CREATE TABLE t2 LIKE t1;
INSERT INTO t1 VALUES (1, 0), (2, 0), (3, 0), (4, 0);
INSERT INTO t2 SELECT * FROM t1;
UPDATE t1 SET k = 1 WHERE id = 1;
FLUSH LOGS;
UPDATE t1 SET k = 2 WHERE id = 1;
UPDATE t2 SET k = 2 WHERE id = 1;
UPDATE t1 SET k = 2 WHERE id = 2;
FLUSH BINARY LOGS;
UPDATE t1 SET k = 3 WHERE id = 1;
UPDATE t2 SET k = 3 WHERE id = 1;
SQL
  stop
  take $(logs)
  expect 11
  cp "$datadir/binlog.index" "$out/$set/"
  readme <<'MD'
Three files and their index. The first two end in a ROTATE event, the third in STOP. sequence_number begins at 1 in each, and
the first transaction of a file has last_committed 0 though it follows others. FLUSH LOGS itself leaves no event.
MD
}

mysql-9.7-open() {
  start mysql-9.7
  two_tables
  reset
  clients 4 update_client 5
  cp "$datadir/binlog.000001" "$dir/"
  truncate -s -20 "$dir/binlog.000001"
  stop
  take "$dir/binlog.000001"
  expect 20
  readme <<'MD'
A log copied while the server ran: the in-use flag is set. The copy lacks its last 20 bytes, and so ends within the header of an Xid event:
the last of 20 transactions is cut.
MD
}

mysql-9.7-raw() {
  start mysql-9.7
  two_tables
  reset
  clients 4 update_client 5
  inside "$binlog" --no-defaults --read-from-remote-server --user=root --socket="$(seen "$dir/sock")" \
    --raw --result-file="$(seen "$dir")/" binlog.000001
  stop
  take "$dir/binlog.000001"
  expect 20
  readme <<'MD'
A copy of a live log by `mysqlbinlog --read-from-remote-server --raw`: the in-use flag is clear, though no ROTATE or STOP
event ends the file. 20 transactions.
MD
}

one_client() {
  echo "USE shop;"
  for ((n = 0; n < 30; n++)); do echo "UPDATE t$((n % 2 + 1)) SET k = k + 1 WHERE id = $((n % 7 + 1));"; done
}
mysql-9.7-one-client() {
  start mysql-9.7
  two_tables
  reset
  clients 1 one_client
  stop
  take $(logs)
  expect 30
  readme <<'MD'
One client, 30 transactions: every one is a group of its own, whatever last_committed says.
MD
}

mysql-9.7-statement() {
  start mysql-9.7 --binlog-format=STATEMENT --gtid-mode=OFF --enforce-gtid-consistency=OFF
  sql <<'SQL'
CREATE DATABASE d;
USE d;
CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, k INT, r DOUBLE);
INSERT INTO t (k) VALUES (1), (2);
SET @v = 7, @w = 'text';
INSERT INTO t (k) VALUES (@v);
UPDATE t SET k = LENGTH(@w) WHERE id = 1;
UPDATE t SET r = RAND() WHERE id = 2;
INSERT INTO t (k) VALUES (LAST_INSERT_ID());
BEGIN; INSERT INTO t (k) VALUES (5); UPDATE t SET r = RAND(); DELETE FROM t WHERE id = 1; COMMIT;
CREATE TABLE m (id INT PRIMARY KEY) ENGINE=MyISAM;
INSERT INTO m VALUES (1);
BEGIN; INSERT INTO m VALUES (2); INSERT INTO t (k) VALUES (6); COMMIT;
CREATE TABLE copy SELECT * FROM t;
CREATE TEMPORARY TABLE tmp (id INT);
INSERT INTO tmp VALUES (1);
UPDATE t SET k = 8;
DROP TEMPORARY TABLE tmp;
SQL
  stop
  take $(logs)
  expect 17
  readme <<'MD'
Statements instead of rows, with their INTVAR, RAND and USER_VAR events, and anonymous GTIDs. CREATE TABLE … SELECT is one
query. The MyISAM insert within BEGIN … COMMIT is logged ahead, as a transaction of its own. The temporary table is in the log
too; an insert into it ends in a COMMIT query.
MD
}

mysql-9.7-archives() {
  local one=$out/mysql-9.7-one-client rotation=$out/mysql-9.7-rotation
  gzip -n -9 <"$one/binlog.000001" >"$out/$set/binlog.000001.gz"
  zstd -q -19 <"$rotation/binlog.000002" >"$out/$set/binlog.000002.zst"
  { cat "$one/own.tsv"; grep '^binlog.000002' "$rotation/own.tsv"; } |
    sed 's/^binlog.000001/&.gz/; s/^binlog.000002/&.zst/' >"$out/$set/own.tsv"
  cat >"$out/$set/README.md" <<'MD'
# mysql-9.7-archives

Logs as an archive keeps them: mysql-9.7-one-client/binlog.000001 by `gzip -n -9`, mysql-9.7-rotation/binlog.000002 by
`zstd -19`. They are of two servers. own.tsv holds the positions in the uncompressed files.
MD
}

# --- main ------------------------------------------------------------------------------------------------------------------

# mysql-9.7-archives is made from two others, and so comes last.
all=(mysql-9.7-row mysql-9.7-commit-order mysql-9.7-writeset mysql-9.7-one-client mysql-9.7-compressed mysql-9.7-rotation
  mysql-9.7-ddl-xa mysql-9.7-statement mysql-9.7-open mysql-9.7-raw mariadb-10.11 mariadb-11.8 mysql-9.7-archives)
[ $# -gt 0 ] || set -- "${all[@]}"
for set; do
  [[ " ${all[*]} " = *" $set "* ]] || { echo "make.sh: no set $set; there are: ${all[*]}" >&2; exit 2; }
  echo "$set"
  rm -rf "${out:?}/$set"
  mkdir -p "$out/$set"
  "$set"
  cleanup
done
