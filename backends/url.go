package backends

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"lockbench/lock"
)

// scheme is a kind of URL.
type scheme struct {
	services  []string // that it can be used for
	port      string   // by default
	tls       bool     // by the scheme; PostgreSQL says it by sslmode
	master    bool     // names a group of servers: ?master=
	database  bool     // may have a path: the database
	topology  string   // with one server; a dash and the number is added for "redlock", "etcd", "zookeeper"
	keys      []string // of the query
	needsPass bool     // a user without a password makes no sense
}

var tlsKeys = []string{"ca", "cert", "insecure", "key", "servername"}

var schemes = map[string]scheme{
	"redis":  {services: []string{lock.ServiceRedis, lock.ServiceRedlock}, port: "6379", database: true, topology: "redis", needsPass: true},
	"rediss": {services: []string{lock.ServiceRedis, lock.ServiceRedlock}, port: "6379", database: true, topology: "redis", tls: true, keys: tlsKeys, needsPass: true},
	"redis-sentinel": {services: []string{lock.ServiceRedis}, port: "26379", database: true, topology: "redis-sentinel",
		master: true, keys: []string{"master"}, needsPass: true},
	"etcd":       {services: []string{lock.ServiceEtcd}, port: "2379", topology: "etcd", needsPass: true},
	"etcds":      {services: []string{lock.ServiceEtcd}, port: "2379", topology: "etcd", tls: true, keys: tlsKeys, needsPass: true},
	"zk":         {services: []string{lock.ServiceZooKeeper}, port: "2181", topology: "zookeeper", needsPass: true},
	"postgres":   {services: []string{lock.ServicePostgres}, port: "5432", database: true, topology: "postgres", keys: pgKeys},
	"postgresql": {services: []string{lock.ServicePostgres}, port: "5432", database: true, topology: "postgres", keys: pgKeys},
}

var pgKeys = []string{"sslcert", "sslkey", "sslmode", "sslrootcert"}

// examples are URLs by service, for hints.
var examples = map[string]string{
	lock.ServiceRedis:     "redis://[USER:PASSWORD@]HOST[:6379][/DB], rediss:// (TLS), or redis-sentinel://HOST,HOST,HOST?master=NAME",
	lock.ServiceRedlock:   "redis://[USER:PASSWORD@]HOST,HOST,HOST, or rediss:// (TLS)",
	lock.ServiceEtcd:      "etcd://[USER:PASSWORD@]HOST[:2379][,HOST...], or etcds:// (TLS)",
	lock.ServiceZooKeeper: "zk://[USER:PASSWORD@]HOST[:2181][,HOST...]",
	lock.ServicePostgres:  "postgres://USER:PASSWORD@HOST[:5432]/DATABASE[?sslmode=disable|require|verify-full]",
}

// minRedlock is the smallest number of servers of which a majority can lose one.
const minRedlock = 3

// ParseURL returns what a URL says of a service's servers. Several hosts are separated by commas.
// Errors are *Error, and never hold a password: net/url's quote the URL, so it is taken apart here.
//
//	redis://[user:password@]host[:port][,host...][/db]    rediss:// with ca=, cert=, key=, servername=, insecure=true
//	redis-sentinel://[user:password@]host[,host...]?master=NAME[/db]    user and password are the data servers'
//	etcd://  etcds://  zk://  postgres://  postgresql://
func ParseURL(service, raw string) (lock.Target, error) {
	tip, known := examples[service]
	if !known {
		return lock.Target{}, &Error{fmt.Errorf("a server of %q cannot be given by URL", service), "services: " + strings.Join(slices.Sorted(maps.Keys(examples)), ", ")}
	}
	t, err := parseURL(service, raw)
	if err != nil {
		var e *Error
		if errors.As(err, &e) {
			return lock.Target{}, err
		}
		return lock.Target{}, &Error{fmt.Errorf("URL for %s: %w", service, err), tip}
	}
	return t, nil
}

func parseURL(service, raw string) (lock.Target, error) {
	t := lock.Target{Service: service}
	name, rest, ok := strings.Cut(raw, "://")
	s, known := schemes[name]
	switch {
	case !ok:
		return t, errors.New("no scheme://")
	case !known:
		return t, errors.New("unknown scheme")
	case !slices.Contains(s.services, service):
		return t, fmt.Errorf("%s:// is for %s", name, strings.Join(s.services, " and "))
	}
	rest, query, _ := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	// From here on, what is quoted holds no part of a password: the last @ of the URL ends it.
	if strings.ContainsRune(query, '@') || strings.ContainsRune(path, '@') {
		return t, &Error{fmt.Errorf("URL for %s: an @ after the host", service),
			"in a user or password, write / as %2F, ? as %3F, # as %23, @ as %40, % as %25"}
	}
	if strings.ContainsRune(rest+query, '#') {
		return t, &Error{fmt.Errorf("URL for %s: a # has no meaning", service), "in a password, write # as %23"}
	}
	if err := s.user(&t, &authority); err != nil {
		return t, err
	}
	if err := s.hosts(&t, authority); err != nil {
		return t, err
	}
	if err := s.path(&t, path); err != nil {
		return t, err
	}
	return t, s.query(&t, query)
}

// user takes user and password off the authority.
func (s scheme) user(t *lock.Target, authority *string) error {
	i := strings.LastIndexByte(*authority, '@')
	if i < 0 {
		return nil
	}
	user, password, both := strings.Cut((*authority)[:i], ":")
	*authority = (*authority)[i+1:]
	var errs [2]error
	t.User, errs[0] = url.PathUnescape(user)
	t.Password, errs[1] = url.PathUnescape(password)
	if errs[0] != nil || errs[1] != nil {
		return errors.New("user or password: a % that no two hexadecimal digits follow (write % as %25)")
	}
	if s.needsPass && (!both || t.Password == "") {
		return errors.New("a user without a password (for a password without a user write :PASSWORD@)")
	}
	if s.topology != "redis" && s.topology != "redis-sentinel" && t.User == "" && t.Password != "" {
		return errors.New("a password without a user")
	}
	return nil
}

func (s scheme) hosts(t *lock.Target, authority string) error {
	for _, h := range strings.Split(authority, ",") {
		addr := h
		host, port, err := net.SplitHostPort(addr)
		if err != nil { // no port
			addr = net.JoinHostPort(strings.TrimSuffix(strings.TrimPrefix(h, "["), "]"), s.port)
			host, port, err = net.SplitHostPort(addr)
		}
		n, perr := strconv.ParseUint(port, 10, 16)
		if err != nil || perr != nil || n == 0 || host == "" || strings.ContainsAny(host, " \t\r\n[]\\\"<>^`{|}") {
			return fmt.Errorf("host %q: want HOST or HOST:PORT", h)
		}
		addr = net.JoinHostPort(host, strconv.FormatUint(n, 10))
		if slices.Contains(t.Addrs, addr) {
			return fmt.Errorf("server %s is named twice", addr)
		}
		t.Addrs = append(t.Addrs, addr)
	}
	n := len(t.Addrs)
	t.Topology = s.topology
	switch t.Service {
	case lock.ServiceRedlock:
		if n < minRedlock {
			return &Error{fmt.Errorf("redlock on %d servers: a majority of them could not lose one", n),
				"redlock needs 3 or more independent servers: redis://HOST,HOST,HOST"}
		}
		t.Topology = fmt.Sprintf("redlock-%d", n)
	case lock.ServiceEtcd, lock.ServiceZooKeeper:
		t.Topology = fmt.Sprintf("%s-%d", s.topology, n)
	default:
		if n > 1 && !s.master {
			return &Error{fmt.Errorf("URL for %s: %d servers, want one", t.Service, n),
				"several independent Redis are for redlock; a primary with replicas is found by redis-sentinel://"}
		}
	}
	return nil
}

func (s scheme) path(t *lock.Target, path string) error {
	if path == "" {
		return nil
	}
	if !s.database {
		return errors.New("a path has no meaning")
	}
	db, err := url.PathUnescape(path)
	if err != nil || strings.ContainsRune(path, '/') {
		return errors.New("the path is the name of the database")
	}
	if strings.HasPrefix(s.topology, "redis") {
		n, err := strconv.ParseUint(db, 10, 16)
		if err != nil {
			return fmt.Errorf("database %q: want a number", db)
		}
		db = strconv.FormatUint(n, 10)
	}
	t.Database = db
	return nil
}

func (s scheme) query(t *lock.Target, query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("what follows the ? is not key=value&key=value")
	}
	one := map[string]string{}
	for _, k := range slices.Sorted(maps.Keys(values)) {
		switch {
		case !slices.Contains(s.keys, k) && len(s.keys) == 0:
			return fmt.Errorf("unknown parameter %q: there are none", k)
		case !slices.Contains(s.keys, k):
			return fmt.Errorf("unknown parameter %q: there are %s", k, strings.Join(s.keys, ", "))
		case len(values[k]) > 1:
			return fmt.Errorf("parameter %q is given twice", k)
		}
		one[k] = values[k][0]
	}
	if s.master {
		if t.Master = one["master"]; t.Master == "" {
			return errors.New("no master=NAME")
		}
	}
	if s.topology == "postgres" {
		return pgTLS(t, one)
	}
	if !s.tls {
		return nil
	}
	t.TLS = &lock.TLS{CAFile: one["ca"], CertFile: one["cert"], KeyFile: one["key"], ServerName: one["servername"]}
	if v, ok := one["insecure"]; ok {
		if t.TLS.Insecure, err = strconv.ParseBool(v); err != nil {
			return errors.New("insecure: want true or false")
		}
	}
	return pair(t.TLS)
}

func pair(c *lock.TLS) error {
	if (c.CertFile == "") != (c.KeyFile == "") {
		return errors.New("a client's certificate and its key go together")
	}
	return nil
}

// pgTLS keeps the modes that are one thing: prefer and allow try one and then the other, so that
// nobody knows what was measured.
func pgTLS(t *lock.Target, q map[string]string) error {
	c := &lock.TLS{CAFile: q["sslrootcert"], CertFile: q["sslcert"], KeyFile: q["sslkey"]}
	switch q["sslmode"] {
	case "", "disable":
		if *c != (lock.TLS{}) {
			return errors.New("certificates, but no sslmode=require or verify-full")
		}
		return nil
	case "require":
		// As libpq: with an authority's certificate at hand, it is checked.
		c.Insecure = c.CAFile == ""
	case "verify-full":
	default:
		return errors.New("sslmode: want disable, require or verify-full")
	}
	t.TLS = c
	return pair(c)
}

// hidden stands for a password.
const hidden = "***"

// Scrub returns the URL without its password, for records, logs and errors; also one
// that is not right, in which anything before the last @ may be part of a password.
func Scrub(raw string) string {
	name, rest, ok := strings.Cut(raw, "://")
	prefix := name + "://"
	if !ok {
		prefix, rest = "", raw
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		user, _, both := strings.Cut(rest[:i], ":")
		if !both { // perhaps a password where the user should be
			user = ""
		}
		rest = user + ":" + hidden + rest[i:]
	}
	base, query, ok := strings.Cut(rest, "?")
	if !ok {
		return prefix + rest
	}
	var kept []string
	for part := range strings.SplitSeq(query, "&") {
		k, _, ok := strings.Cut(part, "=")
		if low := strings.ToLower(k); ok && (strings.Contains(low, "pass") || strings.Contains(low, "pw") || strings.Contains(low, "auth")) {
			part = k + "=" + hidden
		}
		kept = append(kept, part)
	}
	return prefix + base + "?" + strings.Join(kept, "&")
}
