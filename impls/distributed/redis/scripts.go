package redis

import "lockbench/impls/distributed/redis/server"

// The scripts of redis and redis-pubsub. A script is atomic: the server runs nothing
// else meanwhile, and time stands still in it.
var (
	// fenced is SET NX PX with the fencing counter: it grows with each new
	// acquisition, in the same step, so that two holders never see the same number, and the
	// later one sees the larger.
	//
	// KEYS lock, counter; ARGV token, ttl ms. Reply: the counter, or 0 if somebody has the lock.
	fenced = server.NewScript(2, `
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
	return redis.call('INCR', KEYS[2])
end
return 0`)

	// fencedOrLeft is the same, and says for how long the lock is taken. A key without
	// expiry (not ours) answers 0.
	//
	// KEYS lock, counter; ARGV token, ttl ms, "1" with fence. Reply: the counter (1 without
	// fence); 0; or -1 - the ms that are left.
	fencedOrLeft = server.NewScript(2, `
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
	if ARGV[3] == '1' then return redis.call('INCR', KEYS[2]) end
	return 1
end
local left = redis.call('PTTL', KEYS[1])
if left < 0 then return 0 end
return -1 - left`)

	// releaseTelling tells the waiters, too. The channel has the name of the lock.
	releaseTelling = server.NewScript(1, `
if redis.call('GET', KEYS[1]) == ARGV[1] then
	redis.call('DEL', KEYS[1])
	redis.call('PUBLISH', KEYS[1], '')
	return 1
end
return 0`)
)
