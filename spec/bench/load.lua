-- Load for wrk: sends the requests of a file, picked at random, and prints what came of it as JSON.
-- Arguments: the file (a line each: method, path, body, with tabs between), then headers as name and value.

local requests = {}

function init(args)
  local headers = {}
  for index = 2, #args - 1, 2 do headers[args[index]] = args[index + 1] end
  for line in io.lines(args[1]) do
    local method, path, body = line:match("^(%S+)\t(%S+)\t?(.*)$")
    if body == "" then body = nil end
    requests[#requests + 1] = wrk.format(method, path, headers, body)
  end
  math.randomseed(os.time())
end

function request()
  return requests[math.random(#requests)]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"microseconds":%d,"p50":%d,"p99":%d,"p999":%d,"failed":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), latency:percentile(99.9),
    errors.connect + errors.read + errors.write + errors.timeout + errors.status
  ))
end
