package redact

// class says what a name makes of its value.
type class uint8

const (
	nothing       class = iota
	maybe               // some key: masked when the value looks like a secret
	credential          // so is this, but it may hold a password
	capitals            // SOME_KEY: masked in an assignment when long enough
	key                 // a token or an API key: masked unless a number or a placeholder
	authorization       // a scheme may stand before the credential
	terse               // pass: masked where it is clear that something is assigned
	several             // secrets, which may be a number of them
	secret              // masked, numbers too
	password            // and anything up to the next blank belongs to it
)

// hides reports whether no part of the value is shown: people choose passwords,
// and use their beginnings and ends elsewhere.
func (c class) hides() bool { return c >= terse || c == credential }

func (c class) hidesNumbers() bool { return c >= secret }

// maxName is how much of a name is looked at, from its end.
const maxName = 64

var (
	passwords = []string{"password", "passwd", "passphrase", "passcode", "pwd"}

	// Words behind the one that counts: token_value, SECRET_KEY_BASE, DB_PASSWORD_PROD.
	qualifiers = []string{"value", "base", "raw", "old", "new", "prod", "production", "live", "test", "dev", "staging", "backup", "primary"}

	// endings are the last two letters of every name that classify knows.
	endings = endingsOf(passwords, qualifiers,
		[]string{"key", "token", "secret", "pass", "pw", "authorization", "auth", "credential"})

	// Keys that open something.
	lockKeys = []string{"api", "app", "access", "secret", "private", "auth", "encryption", "encrypt", "signing", "sign", "master",
		"license", "account", "subscription", "service", "deploy", "webhook", "bot", "ssh", "gpg", "admin", "client", "openai", "anthropic"}
	lockWords = []string{"apikey", "secretkey", "privatekey", "accesskey", "authkey", "signingkey", "encryptionkey"}

	// Keys that name or sort something.
	plainKeys = []string{"session", "main", "primary", "foreign", "cache", "idempotency", "dedupe", "sort", "partition", "group", "row",
		"object", "storage", "lookup", "index", "map", "dict", "query", "route", "routing", "message", "reply", "thread", "requester",
		"child", "parent", "source", "target", "own", "event", "state", "config", "setting", "translation", "label", "field", "column",
		"property", "react", "list", "item", "data", "hot", "arrow", "shortcut", "host", "known", "order", "job", "lock", "peer"}

	// Tokens of a parser, a page or a budget.
	plainTokens = []string{"page", "next", "continuation", "sync", "max", "min", "total", "input", "output", "prompt", "completion",
		"count", "cached", "reasoning", "budget", "limit", "per", "pad", "eos", "bos", "unk", "stop", "special", "start", "end", "cancellation"}

	// Passes that are no passwords: bypass, first_pass.
	plainPasses = []string{"by", "first", "second", "third", "last", "one", "two", "single", "multi", "low", "high", "band", "all",
		"render", "test", "tests", "did", "must", "will", "num", "checks"}
)

// classify looks at the last word of a name, and at those before it where they
// tell one key from another.
func classify(name string) class {
	if len(name) > maxName {
		name = name[len(name)-maxName:]
	}
	w, before := lastWord(name)
	for foldAny(w, qualifiers) {
		w, before = lastWord(before)
	}
	single := singular(w)
	many := len(single) < len(w)
	w = single
	switch {
	case fold(w, "pw"):
		return password
	case len(w) < 3:
		return nothing
	case foldSuffix(w, "key"):
		return classifyKey(name, w, before)
	case foldSuffix(w, "token"):
		if prev, _ := lastWord(before); foldAny(prev, plainTokens) {
			return nothing
		}
		return key
	case foldSuffix(w, "secret"):
		if many {
			return several
		}
		return secret
	case fold(w, "pass"):
		prev, _ := lastWord(before)
		switch {
		case prev == "":
			return terse
		case !foldAny(prev, plainPasses):
			return password
		}
	case fold(w, "authorization"):
		return authorization
	case fold(w, "auth"), fold(w, "credential"):
		return credential
	}
	for _, p := range passwords {
		if foldSuffix(w, p) {
			if many {
				return several
			}
			return password
		}
	}
	return nothing
}

// singular returns the word without the s of a plural.
func singular(w string) string {
	if n := len(w); n > 3 && w[n-1]|0x20 == 's' && w[n-2]|0x20 != 's' {
		return w[:n-1]
	}
	return w
}

// phrased reports whether the name is of a password that may have several words.
func phrased(name string) bool {
	w, _ := lastWord(name)
	return foldSuffix(w, "password") || foldSuffix(w, "passphrase")
}

// mayEndName reports whether a name that classify knows can end before
// text[end], by its last two letters: most words before a colon are none.
func mayEndName(text string, end int) bool {
	if end < 2 || !dotted.has(text[end-1]) {
		return false
	}
	last, before := text[end-1]|0x20, text[end-2]|0x20
	if !lower(last) || !lower(before) {
		return true // digits and marks at the end of a name do not count
	}
	if endings[last-'a']&(1<<(before-'a')) != 0 {
		return true
	}
	return last == 's' && end > 2 && lower(text[end-3]|0x20) && endings[before-'a']&(1<<(text[end-3]|0x20-'a')) != 0
}

func endingsOf(lists ...[]string) (set [26]uint32) {
	for _, words := range lists {
		for _, w := range words {
			n := len(w)
			set[w[n-1]-'a'] |= 1 << (w[n-2] - 'a')
		}
	}
	return set
}

func classifyKey(name, w, before string) class {
	if !fold(w, "key") {
		for _, l := range lockWords {
			if foldSuffix(w, l) {
				return key
			}
		}
		return nothing
	}
	found := maybe
	for before != "" {
		var prev string
		prev, before = lastWord(before)
		switch {
		case fold(prev, "public"), fold(prev, "pub"):
			return nothing
		case foldAny(prev, lockKeys):
			found = key
		case found == maybe && foldAny(prev, plainKeys):
			found = nothing
		}
	}
	if found == maybe && allCapitals(name) {
		return capitals
	}
	return found
}

func allCapitals(name string) bool {
	for i := 0; i < len(name); i++ {
		if c := name[i]; !upper(c) && !digit(c) && c != '_' {
			return false
		}
	}
	return true
}

// lastWord cuts the last word off a name: at _ - . and blanks, and where a
// capital starts a word. Digits at the end belong to none.
func lastWord(name string) (w, before string) {
	end := len(name)
	for end > 0 && !lower(name[end-1]) && !upper(name[end-1]) {
		end--
	}
	start := end
	for start > 0 && alnum(name[start-1]) {
		start--
		if start > 0 && upper(name[start]) {
			p := name[start-1]
			if lower(p) || digit(p) || upper(p) && start+1 < end && lower(name[start+1]) {
				break
			}
		}
	}
	return name[start:end], name[:start]
}
