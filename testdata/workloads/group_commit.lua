-- A pure write load for sysbench 1.0: each event is one statement and one
-- transaction, which groups with those of other clients. See README.md.

sysbench.cmdline.options = {
   events_per_client = {"Transactions of each client, 0 for no limit; with --time=0 all are made", 0},
   mode = {"What a transaction is: update of one row by its primary key, or insert of one row", "update"},
   tables = {"Number of tables, sbgroup1 and so on", 4},
   rows = {"Rows of each table at the start: prepare and run need the same", 10000},
}

local function name(table)
   return "sbgroup" .. table
end

-- A column's text as sysbench's own tables have it: groups of digits.
local function text(groups)
   return sysbench.rand.string(string.rep("###########-", groups - 1) .. "###########")
end

local function row()
   return string.format("%d, '%s', '%s'", sysbench.rand.uniform(1, sysbench.opt.rows), text(10), text(5))
end

local function connect()
   return sysbench.sql.driver():connect()
end

function prepare()
   local con = connect()
   for table = 1, sysbench.opt.tables do
      print("Creating " .. name(table) .. " with " .. sysbench.opt.rows .. " rows")
      con:query("CREATE TABLE " .. name(table) .. [[ (
         id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
         k INT NOT NULL DEFAULT 0,
         c CHAR(120) NOT NULL DEFAULT '',
         pad CHAR(60) NOT NULL DEFAULT '',
         KEY k (k)) ENGINE = InnoDB]])
      con:bulk_insert_init("INSERT INTO " .. name(table) .. " (id, k, c, pad) VALUES")
      for id = 1, sysbench.opt.rows do
         con:bulk_insert_next(string.format("(%d, %s)", id, row()))
      end
      con:bulk_insert_done()
   end
   con:disconnect()
end

function cleanup()
   local con = connect()
   for table = 1, sysbench.opt.tables do
      print("Dropping " .. name(table))
      con:query("DROP TABLE IF EXISTS " .. name(table))
   end
   con:disconnect()
end

local con, done

function thread_init()
   if sysbench.opt.mode ~= "update" and sysbench.opt.mode ~= "insert" then
      error("--mode is update or insert")
   end
   con, done = connect(), 0
end

function thread_done()
   con:disconnect()
end

-- True ends the client.
function event()
   if sysbench.opt.events_per_client > 0 and done == sysbench.opt.events_per_client then
      return true
   end
   local table = name(sysbench.rand.uniform(1, sysbench.opt.tables))
   if sysbench.opt.mode == "insert" then
      con:query("INSERT INTO " .. table .. " (k, c, pad) VALUES (" .. row() .. ")")
   else
      con:query("UPDATE " .. table .. " SET k = k + 1 WHERE id = " .. sysbench.rand.uniform(1, sysbench.opt.rows))
   end
   done = done + 1 -- not where it failed, since sysbench tries that again
end
