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

// names are the words at the end of a name that say what its value is.
var names = []struct {
	word  string
	whole bool // not as a part of a word, as in keyboard
	class class
	many  class    // of its plural, if that may be a number
	plain []string // words before it that make it another thing
}{
	{word: "key", whole: true, class: maybe},
	{word: "apikey", class: key}, {word: "secretkey", class: key}, {word: "privatekey", class: key}, {word: "accesskey", class: key},
	{word: "authkey", class: key}, {word: "signingkey", class: key}, {word: "encryptionkey", class: key},
	{word: "token", class: key, plain: plainTokens},
	{word: "secret", class: secret, many: several},
	{word: "authorization", whole: true, class: authorization},
	{word: "auth", whole: true, class: credential}, {word: "credential", whole: true, class: credential},
	{word: "pass", whole: true, class: password, plain: plainPasses}, {word: "pw", whole: true, class: password},
	{word: "password", class: password, many: several}, {word: "passwd", class: password, many: several},
	{word: "passphrase", class: password, many: several}, {word: "passcode", class: password, many: several},
	{word: "pwd", class: password, many: several},
}

// endings has, by the last letter of a name that classify knows, the bits of the
// letters before it.
var endings = nameEndings()

func nameEndings() (set [26]uint32) {
	known := qualifiers
	for k := range names {
		known = append(known, names[k].word)
	}
	for _, w := range known {
		n := len(w)
		set[w[n-1]-'a'] |= 1 << (w[n-2] - 'a')
	}
	return set
}

var (
	// Words behind the one that counts: token_value, SECRET_KEY_BASE, DB_PASSWORD_PROD.
	qualifiers = []string{"value", "base", "raw", "old", "new", "prod", "production", "live", "test", "dev", "staging", "backup", "primary"}

	// Keys that open something.
	lockKeys = []string{"api", "app", "access", "secret", "private", "auth", "encryption", "encrypt", "signing", "sign", "master",
		"license", "account", "subscription", "service", "deploy", "webhook", "bot", "ssh", "gpg", "admin", "client", "openai", "anthropic"}

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
	if !mayEndName(w, len(w)) {
		return nothing
	}
	for foldAny(w, qualifiers) {
		w, before = lastWord(before)
	}
	single := singular(w)
	for k := range names {
		n := &names[k]
		if !foldSuffix(single, n.word) || n.whole && len(single) > len(n.word) {
			continue
		}
		prev, _ := lastWord(before)
		switch {
		case n.class == maybe:
			return classifyKey(name, before)
		case foldAny(prev, n.plain):
			return nothing
		case n.word == "pass" && prev == "":
			return terse
		case n.many != nothing && len(single) < len(w):
			return n.many
		}
		return n.class
	}
	return nothing
}

// classifyKey looks at the words before a key: any of them may say that it opens
// something, the last that sorts it decides otherwise.
func classifyKey(name, before string) class {
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
	if found == maybe && capital.all(name) {
		return capitals
	}
	return found
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
	if !lower.has(last) || !lower.has(before) {
		return true // digits and marks at the end of a name do not count
	}
	return ending(before, last) || last == 's' && end > 2 && ending(text[end-3]|0x20, before)
}

func ending(before, last byte) bool {
	return lower.has(before) && endings[last-'a']&(1<<(before-'a')) != 0
}

// lastWord cuts the last word off a name: at _ - . and blanks, and where a
// capital starts a word. Digits at the end belong to none.
func lastWord(name string) (w, before string) {
	end := len(name)
	for end > 0 && !letter.has(name[end-1]) {
		end--
	}
	start := end
	for start > 0 && alnum.has(name[start-1]) {
		start--
		if start > 0 && upper.has(name[start]) {
			p := chars[name[start-1]]
			if p&(lower|digit) != 0 || p&upper != 0 && start+1 < end && lower.has(name[start+1]) {
				break
			}
		}
	}
	return name[start:end], name[:start]
}
