package redact

// class says what a name makes of its value.
type class uint8

const (
	nothing       class = iota
	maybe               // some key: masked when the value looks like a secret
	capitals            // SOME_KEY: masked in an assignment when long enough
	key                 // a token or an API key: masked unless a number or a placeholder
	secret              // masked, numbers too
	password            // and anything up to the next blank belongs to it
	authorization       // a scheme may stand before the credential
)

// maxName is how much of a name is looked at, from its end.
const maxName = 64

var (
	passwords = []string{"password", "passwd", "passphrase", "passcode", "pwd"}

	// Words behind the one that counts: token_value, SECRET_KEY_BASE.
	qualifiers = []string{"value", "base", "raw"}

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
	if foldAny(w, qualifiers) {
		w, before = lastWord(before)
	}
	switch {
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
		return secret
	case fold(w, "pass"):
		if prev, _ := lastWord(before); prev != "" && !foldAny(prev, plainPasses) {
			return password
		}
	case fold(w, "authorization"):
		return authorization
	case fold(w, "auth"), fold(w, "credential"), fold(w, "credentials"):
		return maybe
	}
	for _, p := range passwords {
		if foldSuffix(w, p) {
			return password
		}
	}
	return nothing
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
