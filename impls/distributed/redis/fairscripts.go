package redis

import "lockbench/impls/distributed/redis/server"

// The scripts of redis-fair. Their keys:
//
//	lock      the holder's token; expires with its lease
//	queue     sorted set: the waiters' tokens by ticket
//	seen      sorted set: the same by the time (ms, the server's) until which each counts as alive
//	tickets   counter: the last ticket
//	counter   the fencing counter
//
// Time is the server's, never a client's. Which scripts read it, and then write, is
// sound since Redis 5, which replicates what a script did and not the script.

// firstAlive removes the waiters from the head of the queue that have not shown
// themselves in time, up to one who has. It is the beginning of both scripts.
const firstAlive = `
local now
local function clock()
	if not now then
		local t = redis.call('TIME')
		now = t[1] * 1000 + math.floor(t[2] / 1000)
	end
	return now
end
local removed = false
local function firstAlive(me)
	while true do
		local head = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
		if not head or head == me then return head end
		local seen = redis.call('ZSCORE', KEYS[3], head)
		if seen and tonumber(seen) >= clock() then return head, tonumber(seen) - clock() end
		redis.call('ZREM', KEYS[2], head)
		redis.call('ZREM', KEYS[3], head)
		removed = true
	end
end
local function tell(inbox, head)
	redis.call('PUBLISH', inbox .. string.sub(head, 1, 16), head)
end
`

var (
	// fairEnter takes the lock if it is free and nobody alive is before the caller, and else
	// queues the caller, or shows that it is alive. It can be sent again, and arrive in any order:
	// whoever has the lock already is told so, and has it for a TTL from now on, because the
	// request that took it may have been sent, and may have arrived, before this one. Whoever is
	// queued already keeps its place. A waiter that was removed, because it had not shown itself, comes
	// back with its old ticket.
	//
	// ARGV token, ttl ms, patience ms, "1" with fence, "1" to try only, ticket or 0, inbox.
	// Reply: {1, counter}, {0, ms until something may have changed, ticket}.
	fairEnter = server.NewScript(5, firstAlive+`
local me = ARGV[1]
local holder = redis.call('GET', KEYS[1])
if holder == me then
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
	return {1, tonumber(redis.call('GET', KEYS[5]) or '0')}
end
local ticket = tonumber(ARGV[6])
if ticket > 0 then redis.call('ZADD', KEYS[2], 'NX', ticket, me) end
local head, alive = firstAlive(me)
if not holder and (not head or head == me) then
	redis.call('SET', KEYS[1], me, 'PX', ARGV[2])
	if head then
		redis.call('ZREM', KEYS[2], me)
		redis.call('ZREM', KEYS[3], me)
	end
	if ARGV[4] == '1' then return {1, redis.call('INCR', KEYS[5])} end
	return {1, 0}
end
if ARGV[5] == '1' then return {0, 0, 0} end
if ticket == 0 then
	ticket = tonumber(redis.call('ZSCORE', KEYS[2], me) or 0)
	if ticket == 0 then
		ticket = redis.call('INCR', KEYS[4])
		redis.call('ZADD', KEYS[2], ticket, me)
		head = head or me
	end
end
local patience = tonumber(ARGV[3])
redis.call('ZADD', KEYS[3], clock() + patience, me)
for i = 2, 4 do redis.call('PEXPIRE', KEYS[i], 4 * patience) end
if not holder then
	if removed then tell(ARGV[7], head) end
	return {0, alive, ticket}
end
local left = redis.call('PTTL', KEYS[1])
if left < 0 or head ~= me then left = patience end
return {0, left, ticket}`)

	// fairLeave gives the lock back, or leaves the queue, and tells the first waiter who
	// is alive that the lock is free.
	//
	// KEYS lock, queue, seen; ARGV token, inbox, "1" to leave the queue.
	// Reply: 1 if the lock was the caller's, else 0.
	fairLeave = server.NewScript(3, firstAlive+`
local me, had = ARGV[1], 0
local holder = redis.call('GET', KEYS[1])
if holder == me then
	redis.call('DEL', KEYS[1])
	had, holder = 1, false
end
if ARGV[3] == '1' then
	redis.call('ZREM', KEYS[2], me)
	redis.call('ZREM', KEYS[3], me)
end
if not holder then
	local head = firstAlive('')
	if head then tell(ARGV[2], head) end
end
return had`)
)
