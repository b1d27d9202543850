package redact

// class is the treatment of a value that follows from its name.
type class uint8

const (
	nothing       class = iota
	maybe               // key without a known purpose: masked if the value looks like a secret
	credential          // like maybe, but may contain a password
	capitals            // SOME_KEY: masked in an assignment if long enough
	key                 // a token or an API key: masked unless a number or a placeholder
	authorization       // like key, but a scheme may precede the credential
	terse               // pass: masked only in an unambiguous assignment
	several             // a plural such as secrets: numbers, which may be counts, stay
	secret              // masked, even numbers
	password            // like secret, and the value extends to the next blank
)

// hides reports whether the mask shows no part of the value. People choose passwords, and
// reuse their beginnings and ends.
func (c class) hides() bool { return c >= terse || c == credential }

func (c class) hidesNumbers() bool { return c >= secret }

// maxName is the number of characters at the end of a name that are examined.
const maxName = 64

// names are the words that determine the class of a name that ends with them.
var names = []struct {
	word  string
	whole bool // must be a whole word, unlike the end of monkey
	class class
	many  class    // class of the plural, if its value may be a count
	plain []string // preceding words with which the name is not a credential
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

// endings contains a set of letters for each letter: the letters that precede it at the end
// of a name that classify knows.
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
	// Words that may follow the decisive one: token_value, SECRET_KEY_BASE, DB_PASSWORD_PROD.
	qualifiers = []string{"value", "base", "raw", "old", "new", "prod", "production", "live", "test", "dev", "staging", "backup", "primary"}

	// Words before key that make it a credential.
	lockKeys = []string{"api", "app", "access", "secret", "private", "auth", "encryption", "encrypt", "signing", "sign", "master",
		"license", "account", "subscription", "service", "deploy", "webhook", "bot", "ssh", "gpg", "admin", "client", "openai", "anthropic"}

	// Words before key that make it an identifier.
	plainKeys = []string{"session", "main", "primary", "foreign", "cache", "idempotency", "dedupe", "sort", "partition", "group", "row",
		"object", "storage", "lookup", "index", "map", "dict", "query", "route", "routing", "message", "reply", "thread", "requester",
		"child", "parent", "source", "target", "own", "event", "state", "config", "setting", "translation", "label", "field", "column",
		"property", "react", "list", "item", "data", "hot", "arrow", "shortcut", "host", "known", "order", "job", "lock", "peer"}

	// Words before token that exclude a credential: tokens of parsers, pages and budgets.
	plainTokens = []string{"page", "next", "continuation", "sync", "max", "min", "total", "input", "output", "prompt", "completion",
		"count", "cached", "reasoning", "budget", "limit", "per", "pad", "eos", "bos", "unk", "stop", "special", "start", "end", "cancellation"}

	// Words before pass that exclude a password: bypass, first_pass.
	plainPasses = []string{"by", "first", "second", "third", "last", "one", "two", "single", "multi", "low", "high", "band", "all",
		"render", "test", "tests", "did", "must", "will", "num", "checks"}
)

// classify returns the class of a name. The class depends on the last word and, for some last
// words, on the words before it.
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

// classifyKey returns the class of a name that ends with key, by the words before it. Any of
// lockKeys makes it a credential, else any of plainKeys an identifier; public excludes a
// credential.
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

// phrased reports whether a value with this name may be a passphrase of several words.
func phrased(name string) bool {
	w, _ := lastWord(name)
	return foldSuffix(w, "password") || foldSuffix(w, "passphrase")
}

// mayEndName reports whether a name that classify knows may end before text[end]. It checks
// only the last two letters, which excludes most words before a colon.
func mayEndName(text string, end int) bool {
	if end < 2 || !dotted.has(text[end-1]) {
		return false
	}
	last, before := text[end-1]|0x20, text[end-2]|0x20
	if !lower.has(last) || !lower.has(before) {
		return true // digits and punctuation at the end of a name are ignored
	}
	return ending(before, last) || last == 's' && end > 2 && ending(text[end-3]|0x20, before)
}

func ending(before, last byte) bool {
	return lower.has(before) && endings[last-'a']&(1<<(before-'a')) != 0
}

// lastWord splits a name before its last word. Words are separated by _ - . and blanks; a
// capital starts a new word. Digits at the end of the name are dropped.
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
