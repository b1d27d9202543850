package config

// Secret is a string that formatting, encoding and logging do not reveal.
type Secret string

// String hides the secret from %v and %s.
func (s Secret) String() string { return "[secret]" }

// GoString hides the secret from %#v.
func (s Secret) GoString() string { return "[secret]" }

// MarshalText hides the secret from encoders and loggers.
func (s Secret) MarshalText() ([]byte, error) { return []byte("[secret]"), nil }

// Reveal returns the secret in plain text.
func (s Secret) Reveal() string { return string(s) }
