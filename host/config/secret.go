package config

// Secret is a text that is never printed.
type Secret string

// String hides the secret from %v and %s.
func (s Secret) String() string { return "[secret]" }

// GoString hides the secret from %#v.
func (s Secret) GoString() string { return "[secret]" }

// MarshalText hides the secret from encoders and loggers.
func (s Secret) MarshalText() ([]byte, error) { return []byte("[secret]"), nil }

// Reveal returns the text itself.
func (s Secret) Reveal() string { return string(s) }
