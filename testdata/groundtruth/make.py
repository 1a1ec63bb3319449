#!/usr/bin/python3
"""Makes ground-truth data sets of MySQL group commit by tracing a real server in the kernel.

  make.py --list            names of the sets
  make.py NAME...           makes these sets (default: all that are not there yet)

Each set appears as $OUT/NAME (default: groundtruth below the current directory) once it is finished; the raw trace stays in
$OUT-raw/NAME.trace.gz. Needs: root, sysbench, tracefs, and MySQL 9.7 in a tree to chroot into ($BGCSTAT_MYSQL97_ROOT).

How: every write, fdatasync and fsync of the server's threads is traced at its system call. The bytes written to the binlog's
descriptor so far are the file's size at each moment. A sync covers what had been written when it began. A flush leader's batch
ends at its first write whose end is not a multiple of 4096: while it fills its cache, the server writes only up to such
multiples.
"""
import bisect, glob, gzip, json, os, re, shutil, signal, struct, subprocess, sys, time

OUT = os.path.abspath(os.environ.get("OUT", "groundtruth"))
RAW = OUT + "-raw"
ROOT = os.environ.get("BGCSTAT_MYSQL97_ROOT", "/opt/mysql-9.7")
W = "/groundtruth-work"                      # inside ROOT
TRACE = "/sys/kernel/tracing"
INST = TRACE + "/instances/bgcstat"
PORT = 3497
MAGIC = 4096                        # IO_SIZE: an IO_CACHE that is not yet flushed writes up to a multiple of it

LUA_HEAD = 'require("oltp_common")\n'
LUA = {
 # a new connection for every transaction
 "connect": LUA_HEAD + """
function thread_init() drv = sysbench.sql.driver() end
function thread_done() end
function event()
  local c = drv:connect()
  c:query(string.format("UPDATE sbtest%d SET k=k+1 WHERE id=%d",
     sysbench.rand.uniform(1, sysbench.opt.tables), sysbench.rand.default(1, sysbench.opt.table_size)))
  c:disconnect()
end
""",
 # 0 to 5 ms of think time after each transaction
 "thinktime": LUA_HEAD + """
local ffi = require("ffi")
ffi.cdef("int usleep(unsigned int);")
function prepare_statements() prepare_index_updates() end
function event()
  execute_index_updates(con)
  ffi.C.usleep(sysbench.rand.uniform(0, 5000))
end
""",
 # rows of 4 KB; row image FULL puts two of them into each event
 "rowfull": LUA_HEAD + """
function thread_init() drv = sysbench.sql.driver(); con = drv:connect() end
function thread_done() con:disconnect() end
function event()
  con:query(string.format("UPDATE big SET k=k+1, c=REPEAT(SHA2(RAND(),256),64) WHERE id=%d", sysbench.rand.uniform(1, 2000)))
end
""",
 # 2 of 100 transactions write 100 to 300 KB, the others update one integer
 "mixedsize": LUA_HEAD + """
function thread_init()
  drv = sysbench.sql.driver(); con = drv:connect()
  stmt = {}; param = {}; num_tables = sysbench.opt.tables
end
function thread_done() con:disconnect() end
function event()
  if sysbench.rand.uniform(1, 100) <= 2 then
    con:query(string.format("INSERT INTO blobs (b) VALUES (REPEAT(SHA2(RAND(),256),%d))", sysbench.rand.uniform(1600, 4800)))
  else
    con:query(string.format("UPDATE sbtest%d SET k=k+1 WHERE id=%d",
      sysbench.rand.uniform(1, sysbench.opt.tables), sysbench.rand.default(1, sysbench.opt.table_size)))
  end
end
""",
}
UI, INS, WO = "oltp_update_index", "oltp_insert", "oltp_write_only"

def S(threads, n, load=UI, co=False, delay=0, nodelay=0, flushlog=1, sb=1, image="MINIMAL", extra=(), sql=(), mysqld=()):
    return dict(threads=threads, n=n, load=load, co=co, delay=delay, nodelay=nodelay, flushlog=flushlog, sb=sb,
                image=image, extra=list(extra), sql=list(sql), mysqld=list(mysqld))
SETS = {
 "ws-24": S(24, 8000),
 "ws-48": S(48, 8000),
 "co-24": S(24, 8000, co=True),
 "co-8": S(8, 6000, co=True),
 "ws-4": S(4, 5000),
 "ws-2": S(2, 4000),
 "ws-8-delay200us": S(8, 6000, delay=200),
 "ws-8-delay5ms": S(8, 4000, delay=5000),
 "ws-32-delay2ms": S(32, 8000, delay=2000),
 "ws-16-delay1ms-nodelaycount8": S(16, 6000, delay=1000, nodelay=8),
 "ws-8-flushlog2": S(8, 6000, flushlog=2),
 "ws-16-flushlog0": S(16, 6000, flushlog=0),
 "co-16-flushlog2": S(16, 6000, co=True, flushlog=2),
 "ws-8-flushlog2-delay1ms": S(8, 5000, flushlog=2, delay=1000),
 "ws-16-inserts": S(16, 6000, load=INS),
 "ws-8-writeonly": S(8, 4000, load=WO),
 "ws-8-rate": S(8, 3000, extra=["--rate=300"]),
 "ws-64-rate2000": S(64, 8000, extra=["--rate=2000"]),
 "ws-8-rowfull": S(8, 4000, load="rowfull", image="FULL",
   sql=["CREATE TABLE sb.big (id INT PRIMARY KEY, k INT NOT NULL DEFAULT 0, c VARCHAR(4200) NOT NULL) CHARACTER SET latin1",
        "INSERT INTO sb.big SELECT id, 0, REPEAT(CHAR(97 + id % 26), 4096) FROM sb.sbtest1 WHERE id <= 2000"]),
 "ws-16-mixedsize": S(16, 5000, load="mixedsize",
                      sql=["CREATE TABLE sb.blobs (id INT AUTO_INCREMENT PRIMARY KEY, b LONGBLOB NOT NULL)"]),
 "ws-8-connect": S(8, 4000, load="connect"),
 "ws-12-thinktime": S(12, 5000, load="thinktime"),
}

def sh(*a, **k): return subprocess.run(a, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **k).stdout
def put(path, s):
    with open(path, "w") as f: f.write(str(s))
def get(path):
    with open(path) as f: return f.read()
def log(*a): print(time.strftime("%H:%M:%S"), *a, flush=True)

# ---------------------------------------------------------------- server
def init_template():
    t = ROOT + W + "/template"
    if os.path.exists(t + ".ok"): return
    shutil.rmtree(ROOT + W, ignore_errors=True); os.makedirs(ROOT + W)
    sh("chroot", ROOT, "/usr/sbin/mysqld", "--no-defaults", "--initialize-insecure", "--user=root", "--datadir=" + W + "/template",
       "--log-error=" + W + "/init.log")
    put(t + ".ok", "")

class Server:
    def __init__(self, cfg):
        self.data = ROOT + W + "/data"
        shutil.rmtree(self.data, ignore_errors=True)
        sh("cp", "-a", ROOT + W + "/template", self.data)
        self.sock = ROOT + W + "/m.sock"
        if os.path.exists(self.sock): os.unlink(self.sock)
        args = ["chroot", ROOT, "/usr/sbin/mysqld", "--no-defaults", "--user=root", "--datadir=" + W + "/data",
          "--port=%d" % PORT, "--bind-address=127.0.0.1", "--mysqlx=OFF", "--secure-file-priv=NULL", "--socket=" + W + "/m.sock",
          "--pid-file=" + W + "/m.pid", "--server-id=1", "--log-bin=mysql-bin", "--sync-binlog=%d" % cfg["sb"],
          "--innodb-flush-log-at-trx-commit=%d" % cfg["flushlog"], "--gtid-mode=ON", "--enforce-gtid-consistency=ON",
          "--binlog-row-image=" + cfg["image"], "--max-connections=300", "--log-error=" + W + "/error.log"] + cfg["mysqld"]
        if cfg["co"]: args.append("--binlog-transaction-dependency-history-size=1")
        self.p = subprocess.Popen(args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.pid = self.p.pid               # chroot(8) execs mysqld
        for _ in range(600):
            time.sleep(0.1)
            if self.p.poll() is not None: raise RuntimeError("mysqld ended: " + get(ROOT + W + "/error.log")[-2000:])
            try: self.sql("SELECT 1"); break
            except subprocess.CalledProcessError: pass
        else: raise RuntimeError("mysqld does not answer")
        assert os.readlink("/proc/%d/exe" % self.pid).endswith("/mysqld")
    def sql(self, q):
        return sh("chroot", ROOT, "/usr/bin/mysql", "--no-defaults", "-uroot", "-S", W + "/m.sock", "-N", "-B", "-e", q)
    def stop(self):
        if self.p.poll() is None:
            self.p.send_signal(signal.SIGTERM)
            try: self.p.wait(60)
            except subprocess.TimeoutExpired: self.p.kill(); self.p.wait()
    def fds(self):
        r = {}
        for f in os.listdir("/proc/%d/fd" % self.pid):
            try: r[int(f)] = os.readlink("/proc/%d/fd/%s" % (self.pid, f))
            except OSError: pass
        return r

def file_class(path):
    b = os.path.basename(path)
    if re.search(r"mysql-bin\.\d{6}$", b): return "binlog"
    if "#ib_redo" in b or "#innodb_redo" in path: return "redo"
    if re.search(r"\.(ibd|ibu|dblwr|bdblwr)$", b) or b.startswith(("ibdata", "ibtmp", "undo_", "#ib_")): return "data"
    return "other"

# ---------------------------------------------------------------- trace
EVENTS = {"sys_enter_write": True, "sys_exit_write": False, "sys_enter_pwrite64": False, "sys_exit_pwrite64": False,
          "sys_enter_fdatasync": False, "sys_exit_fdatasync": False, "sys_enter_fsync": False, "sys_exit_fsync": False}
def trace_start(pid, fd):
    trace_remove()
    os.mkdir(INST)
    put(INST + "/tracing_on", 0)
    put(INST + "/trace_clock", "mono")
    put(INST + "/buffer_size_kb", 65536)
    put(INST + "/options/event-fork", 1)
    with open(INST + "/set_event_pid", "w") as f:
        f.write(" ".join(sorted(os.listdir("/proc/%d/task" % pid))))
    for e, binlog_only in EVENTS.items():
        d = INST + "/events/syscalls/" + e
        if binlog_only: put(d + "/filter", "fd==%d" % fd)
        put(d + "/enable", 1)
    put(INST + "/trace", "")
    put(INST + "/tracing_on", 1)
def trace_stop():
    put(INST + "/tracing_on", 0)
    lost = {}
    for p in glob.glob(INST + "/per_cpu/cpu*/stats"):
        for l in get(p).splitlines():
            k, _, v = l.partition(":")
            if k in ("overrun", "commit overrun", "dropped events"): lost[k] = lost.get(k, 0) + int(v)
    with open(INST + "/trace") as f: text = f.read()
    return text, sum(lost.values())
def trace_remove():
    if os.path.isdir(INST):
        put(INST + "/events/enable", 0)
        os.rmdir(INST)
def clock_offset():
    best = None
    for _ in range(64):
        a = time.clock_gettime_ns(time.CLOCK_MONOTONIC); r = time.time_ns(); b = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        if best is None or b - a < best[0]: best = (b - a, r - (a + b) // 2)
    return best[1]

# comm-TID [cpu] flags secs.usecs: sys_write(fd: 1e, buf: 7f.., count: 10)     or     sys_write -> 0x135
LINE = re.compile(r"-(\d+)\s+\[\d+\]\s+\S+\s+(\d+)\.(\d+): sys_(\w+)(?:\((.*)\)| -> (0x[0-9a-f]+|-?\d+))")
def parse(text):
    for l in text.splitlines():
        m = LINE.search(l)
        if not m:
            if l and not l.startswith("#"): raise RuntimeError("trace line: " + l)
            continue
        tid, s, us, call, args, ret = m.groups()
        t = int(s) * 1000000 + int(us)
        if args is not None:
            a = dict(x.split(": ", 1) for x in args.split(", ") if ": " in x)
            fd = int(a["fd"], 16)
            yield t, int(tid), call, "enter", fd, int(a["count"], 16) if "count" in a else 0
        else:
            r = int(ret, 0)
            if r >= 1 << 63: r -= 1 << 64
            yield t, int(tid), call, "exit", r, 0

def groups(text, binlog_fd, classes, start):
    """Goes over the trace in time order. Positions are those of the file; times are us of the trace clock."""
    pos = start                         # written: a write counts from its end on
    open_w = {}                         # tid -> (start time, pos expected, count)
    open_s = {}                         # tid -> (call, fd, t, pos covered)
    calls, writes, syncs = {}, [], []
    redo_since = {}                     # tid -> what that thread did to redo since its last binlog write
    inflight = 0
    for t, tid, call, kind, a, n in parse(text):
        if kind == "enter":
            if call == "write":
                open_w[tid] = (t, n)
            elif call in ("fdatasync", "fsync"):
                c = classes.get(a, "other")
                calls[c] = calls.get(c, 0) + 1
                if c == "redo": redo_since.setdefault(tid, set()).add("sync")
                if c == "binlog":
                    if open_w: inflight += 1
                open_s[tid] = (call, a, t, pos)
            elif call == "pwrite64":
                if classes.get(a) == "redo": redo_since.setdefault(tid, set()).add("write")
        else:
            if call == "write" and tid in open_w:
                t0, want = open_w.pop(tid)
                if a != want: raise RuntimeError("short write %d of %d" % (a, want))
                writes.append((t0, t, tid, pos, pos + a, redo_since.pop(tid, set()))); pos += a
            elif call in ("fdatasync", "fsync") and tid in open_s:
                _, fd, t0, covered = open_s.pop(tid)
                if classes.get(fd) == "binlog": syncs.append((t0, t, tid, covered, a))
    return pos, writes, syncs, calls, inflight

def batches(writes):
    """One batch of a flush leader: its writes up to the first that does not end at a multiple of 4096. The server's IO_CACHE
    writes to such multiples while it fills and to the real end only when the leader flushes it, so that is the end of a batch
    (and a batch that ends there by chance, 1 in 4096, is told by the thread or by redo done in between)."""
    out, cur = [], None
    how = {"unaligned_end": 0, "thread_change": 0, "redo_between": 0}
    for t0, t1, tid, a, b, redo in writes:
        if cur is not None:
            if cur["tid"] != tid: how["thread_change"] += 1; out.append(cur); cur = None
            elif redo: how["redo_between"] += 1; out.append(cur); cur = None
        if cur is None: cur = dict(tid=tid, start=t0, begin=a)
        cur["end"] = b; cur["last"] = t1
        cur.setdefault("writes", 0); cur["writes"] += 1
        if b % MAGIC: how["unaligned_end"] += 1; out.append(cur); cur = None
    if cur is not None: out.append(cur)
    return out, how

def brief_batches(writes):
    """The plain rule for comparison: thread changes, or the thread touched redo in between (sync, or only write), or 60 us."""
    ends = []
    for i, w in enumerate(writes):
        if i + 1 == len(writes): ends.append(w[4]); break
        n = writes[i + 1]
        if n[2] != w[2] or n[5] or n[0] - w[1] >= 60: ends.append(w[4])
    return ends

# ---------------------------------------------------------------- binlog
def transactions(path):
    """(start, end) of each transaction: GTID event to XID (or COMMIT query) event; also the GTID-less rest."""
    d = open(path, "rb").read()
    assert d[:4] == b"\xfebin"
    p, out, begin, types = 4, [], None, {}
    while p + 19 <= len(d):
        typ, ln, end = d[p + 4], struct.unpack_from("<I", d, p + 9)[0], struct.unpack_from("<I", d, p + 13)[0]
        if ln < 19 or p + ln > len(d): break
        assert end == p + ln, (p, end, ln)
        types[typ] = types.get(typ, 0) + 1
        if typ in (33, 34, 42): begin = p
        elif typ == 16 and begin is not None: out.append((begin, p + ln)); begin = None
        p += ln
    return out, p, len(d), types

def diskstats():
    dev = os.stat(ROOT).st_dev
    for l in get("/proc/diskstats").splitlines():
        f = l.split()
        if len(f) >= 20 and (int(f[0]), int(f[1])) == (os.major(dev), os.minor(dev)): return int(f[18])
    return 0

# ---------------------------------------------------------------- one set
def make(name):
    cfg = SETS[name]
    init_template(); os.makedirs(RAW, exist_ok=True)
    srv = Server(cfg)
    try:
        srv.sql("CREATE DATABASE sb")
        load, luafile = cfg["load"], None
        if load in LUA:
            luafile = ROOT + W + "/" + load + ".lua"; put(luafile, LUA[load]); script = luafile
        else: script = load
        base = ["sysbench", script, "--db-driver=mysql", "--mysql-socket=" + srv.sock, "--mysql-user=root", "--mysql-db=sb",
                "--tables=4", "--table-size=20000"]
        prep = ["sysbench", "oltp_update_index"] + base[2:]
        sh(*prep, "--threads=2", "prepare")
        for q in cfg["sql"]: srv.sql(q)
        srv.sql("SET GLOBAL binlog_group_commit_sync_delay=%d; SET GLOBAL binlog_group_commit_sync_no_delay_count=%d" % (cfg["delay"], cfg["nodelay"]))
        srv.sql("RESET BINARY LOGS AND GTIDS")
        binlog = srv.data + "/mysql-bin.000001"
        time.sleep(1.0)
        fds = srv.fds()
        bfd = [f for f, p in fds.items() if p.endswith("/mysql-bin.000001")]
        assert len(bfd) == 1, fds
        bfd, start = bfd[0], os.stat(binlog).st_size
        trace_start(srv.pid, bfd)
        off0, dk0, t_start = clock_offset(), diskstats(), time.time()
        out = sh(*base, "--threads=%d" % cfg["threads"], "--events=%d" % cfg["n"], "--time=0", *cfg["extra"], "run")
        t_end, dk1, off1 = time.time(), diskstats(), clock_offset()
        time.sleep(0.3)
        text, lost = trace_stop()
        trace_remove()
        fds2 = srv.fds()
        assert fds2.get(bfd) == fds[bfd]
        classes = {f: file_class(p) for f, p in list(fds2.items()) + list(fds.items())}
        tmp = OUT + "/.tmp-" + name
        shutil.rmtree(tmp, ignore_errors=True); os.makedirs(tmp)
        shutil.copyfile(binlog, tmp + "/mysql-bin.000001")
        names = ("binlog_group_commit_sync_delay binlog_group_commit_sync_no_delay_count binlog_order_commits binlog_row_image "
                 "binlog_transaction_compression binlog_transaction_dependency_history_size innodb_flush_log_at_trx_commit sync_binlog version").split()
        var = dict(l.split("\t", 1) for l in srv.sql("SHOW GLOBAL VARIABLES WHERE Variable_name IN (%s)" % ",".join("'%s'" % n for n in names)).splitlines())
        writers = srv.sql("SELECT @@innodb_log_writer_threads, @@max_binlog_size").split()
        with gzip.open(RAW + "/" + name + ".trace.gz", "wt") as f:
            f.write("# binlog_fd %d start %d classes %s offset_ns %d\n" % (bfd, start, json.dumps(classes), (off0 + off1) // 2)); f.write(text)
        xid_mysqlbinlog = []
        # the server's own mysqlbinlog, for the check of the transaction ends
        mb = subprocess.Popen(["chroot", ROOT, "/usr/bin/mysqlbinlog", "--no-defaults", "--base64-output=DECODE-ROWS", W + "/data/mysql-bin.000001"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for l in mb.stdout:
            if l.startswith(b"#") and b"Xid = " in l:
                m = re.search(rb"end_log_pos (\d+)", l); xid_mysqlbinlog.append(int(m.group(1)))
        mb.wait()
    finally:
        srv.stop()
        trace_remove()

    off = (off0 + off1) // 2
    U = lambda us: "%.6f" % ((us * 1000 + off) / 1e9)
    pos, writes, syncs, calls, inflight = groups(text, bfd, classes, start)
    trx, whole, size, types = transactions(tmp + "/mysql-bin.000001")
    ends = [e for _, e in trx]; endset = set(ends)
    rows, durable, seen = [], start, 0
    for t0, t1, tid, cov, ret in sorted(syncs, key=lambda s: (s[1])):   # made durable when the call ended
        if ret != 0: raise RuntimeError("fdatasync returned %d" % ret)
        if cov > durable: rows.append((cov, t0, t1)); durable = cov
    fl, how = batches(writes)
    plain = brief_batches(writes)
    s_in = [r[0] for r in rows if r[0] not in endset]
    f_in = [b["end"] for b in fl if b["end"] not in endset]
    fe = [b["end"] for b in fl]
    with open(tmp + "/sync_groups.tsv", "w") as f:
        f.write("end_pos\tfsync_start_unix\tfsync_end_unix\n")
        for e, a, b in rows: f.write("%d\t%s\t%s\n" % (e, U(a), U(b)))
    with open(tmp + "/flush_groups.tsv", "w") as f:
        f.write("end_pos\twrite_start_unix\n")
        for b in fl: f.write("%d\t%s\n" % (b["end"], U(b["start"])))
    def covered(ends_of_groups):      # groups that hold a transaction
        i, n = 0, 0
        for e in ends_of_groups:
            j = bisect.bisect_right(ends, e)
            if j > i: n += 1
            i = max(i, j)
        return n, i
    sg, sdone = covered([r[0] for r in rows]); fg, fdone = covered(fe)
    desc = {"rowfull": "updates of a 4 KB column, 2000 rows", "mixedsize": "2 % inserts of 100 to 300 KB, else updates of one row",
            "connect": "a new connection for every update of one row", "thinktime": "oltp_update_index, then 0 to 5 ms of sleep"}
    opts = " ".join(["--tables=4", "--table-size=20000"] + cfg["extra"])
    meta = {
      "name": name, "threads": cfg["threads"],
      "workload": load + ".lua (" + desc[load] + ") " + opts if load in LUA else load + " " + opts,
      "variables": {k: var[k] for k in names},
      "transactions": len(trx), "bytes_traced": pos - start, "file_size": size, "diskstats_flushes": dk1 - dk0,
      "sync_groups": len(rows), "flush_groups": len(fl),
      "sync_ends_inside_a_transaction": len(s_in), "flush_ends_inside_a_transaction": len(f_in),
      "fsync_calls_by_file_class": calls, "started_unix": t_start, "ended_unix": t_end,
      "dependency_tracking": "commit order (history size 1 makes every transaction fall back to it)" if cfg["co"] else "WRITESET (the only mode in this version)",
      "innodb_log_writer_threads": writers[0],
      "checks": {
        "lost_trace_events": lost, "file_start": start,
        "traced_bytes_equal_file": pos == size and whole == size,
        "ends_equal_mysqlbinlog": xid_mysqlbinlog == ends,
        "sync_rows_with_transactions": sg, "flush_rows_with_transactions": fg,
        "transactions_after_last_sync_row": len(trx) - sdone, "transactions_after_last_flush_row": len(trx) - fdone,
        "binlog_syncs_without_new_bytes": len(syncs) - len(rows),
        "syncs_begun_while_a_write_was_running": inflight,
        "write_calls": len(writes), "batches_of_several_writes": sum(b["writes"] > 1 for b in fl),
        "batch_end_told_by": how,
        "page_edge_writes_inside_batches": sum(1 for w in writes if w[4] % MAGIC == 0),
        "batches_by_thread_redo_60us_rule": len(plain),
        "batch_ends_only_here": len(set(fe) - set(plain)), "batch_ends_only_in_that_rule": len(set(plain) - set(fe)),
        "sync_ends_not_a_batch_end": len([r for r in rows if r[0] not in set(fe)]),
      },
      "clock_offset_drift_us": round((off1 - off0) / 1000, 1),
    }
    put(tmp + "/meta.json", json.dumps(meta, indent=1))
    bad = []
    c = meta["checks"]
    if lost or not c["traced_bytes_equal_file"] or not c["ends_equal_mysqlbinlog"]: bad.append("CHECK FAILED")
    if len(trx) < cfg["n"]: bad.append("only %d of %d transactions" % (len(trx), cfg["n"]))
    dst = OUT + "/" + name
    if bad and not c["traced_bytes_equal_file"]: dst = RAW + "/failed-" + name
    shutil.rmtree(dst, ignore_errors=True); os.rename(tmp, dst)
    log(name, "trx", len(trx), "sync", len(rows), "flush", len(fl), "s_in", len(s_in), "f_in", len(f_in), "lost", lost,
        "%.1f s" % (t_end - t_start), json.dumps(c), *bad)

if __name__ == "__main__":
    a = sys.argv[1:]
    if a == ["--list"]: print("\n".join(SETS)); sys.exit()
    if not os.path.exists(TRACE + "/instances"): subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACE], check=True)
    fail = 0
    for n in a or [n for n in SETS if not os.path.exists(OUT + "/" + n)]:
        for attempt in (1, 2):
            try: make(n); break
            except Exception as e:
                log(n, "FAILED:", repr(e), getattr(e, "stderr", "") or "", (getattr(e, "stdout", "") or "")[-600:])
                if attempt == 2: fail = 1
    sys.exit(fail)
