-- All clients update one row of one table, for sysbench 1.0: its lock lets no
-- two transactions commit together. See README.md.

sysbench.cmdline.options = {
   events_per_client = {"Transactions of each client, 0 for no limit; with --time=0 all are made", 0},
   rows = {"Rows that are updated: 1 for the row with id 100, else ids 1 to this, each as often. " ..
           "prepare makes as many rows, 100 or more", 1},
}

local hot = 100 -- the row of --rows=1, and the fewest in the table

local function text(groups)
   return sysbench.rand.string(string.rep("###########-", groups - 1) .. "###########")
end

local function connect()
   return sysbench.sql.driver():connect()
end

function prepare()
   local con, rows = connect(), math.max(hot, sysbench.opt.rows)
   print("Creating sbhot with " .. rows .. " rows")
   con:query([[CREATE TABLE sbhot (
      id INT NOT NULL PRIMARY KEY,
      k INT NOT NULL DEFAULT 0,
      c CHAR(120) NOT NULL DEFAULT '',
      pad CHAR(60) NOT NULL DEFAULT '',
      KEY k (k)) ENGINE = InnoDB]])
   con:bulk_insert_init("INSERT INTO sbhot (id, k, c, pad) VALUES")
   for id = 1, rows do
      con:bulk_insert_next(string.format("(%d, 0, '%s', '%s')", id, text(10), text(5)))
   end
   con:bulk_insert_done()
   con:disconnect()
end

function cleanup()
   local con = connect()
   print("Dropping sbhot")
   con:query("DROP TABLE IF EXISTS sbhot")
   con:disconnect()
end

local con, done

function thread_init()
   con, done = connect(), 0
   -- An update of a row that is not there would be no transaction in the log.
   local rows = tonumber(con:query_row("SELECT MAX(id) FROM sbhot")) or 0
   if rows < sysbench.opt.rows then
      error("sbhot has " .. rows .. " rows: cleanup, and prepare with --rows=" .. sysbench.opt.rows)
   end
end

function thread_done()
   con:disconnect()
end

-- True ends the client.
function event()
   if sysbench.opt.events_per_client > 0 and done == sysbench.opt.events_per_client then
      return true
   end
   local id = hot
   if sysbench.opt.rows > 1 then
      id = sysbench.rand.uniform(1, sysbench.opt.rows)
   end
   con:query("BEGIN")
   con:query("UPDATE sbhot SET k = k + 1 WHERE id = " .. id)
   con:query("COMMIT")
   done = done + 1 -- not where it failed, since sysbench tries that again
end
