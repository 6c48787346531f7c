package server

// The scripts that every lock with a random token has. A script is atomic.
var (
	// Release deletes the lock if it is still the caller's: the token was
	// overwritten, if somebody has acquired the lock since it expired.
	//
	// KEYS lock; ARGV token. Reply: 1, or 0 if it is not the caller's.
	Release = NewScript(1, `
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('DEL', KEYS[1])
end
return 0`)

	// Extend sets the time to live anew if the lock is still the caller's.
	//
	// KEYS lock; ARGV token, ttl ms. Reply: 1, or 0.
	Extend = NewScript(1, `
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0`)
)
