-- Load for wrk: sends the requests of a file, and prints what came of it as JSON.
-- Arguments: the file (a line each: method, path, body, with tabs between); how many of its lines have been sent, when
-- they are sent in their order, or "any", when they are picked at random; then headers as name and value.

local requests = {}
local headers = {}
local threads = {}
local file
sent = 0

local function parsed(line)
  local method, path, body = line:match("^(%S+)\t(%S+)\t?(.*)$")
  if body == "" then body = nil end
  return wrk.format(method, path, headers, body)
end

local function next_line()
  local line = file:read("*l")
  if line then return line end
  file:seek("set")
  return file:read("*l")
end

function setup(thread)
  threads[#threads + 1] = thread
end

function init(args)
  for index = 3, #args - 1, 2 do headers[args[index]] = args[index + 1] end
  file = io.open(args[1])
  if args[2] == "any" then
    for line in file:lines() do requests[#requests + 1] = parsed(line) end
    math.randomseed(os.time())
  else
    for _ = 1, tonumber(args[2]) do next_line() end
  end
end

function request()
  sent = sent + 1
  if #requests > 0 then return requests[math.random(#requests)] end
  return parsed(next_line())
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"microseconds":%d,"p50":%d,"p99":%d,"p999":%d,"failed":%d,"sent":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), latency:percentile(99.9),
    errors.connect + errors.read + errors.write + errors.timeout + errors.status, threads[1]:get("sent")
  ))
end
