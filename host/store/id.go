package store

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// DeriveID returns an id that follows from a store's secret and the parts, and
// that nobody without the secret can foresee. The same parts give the same id.
func DeriveID(secret []byte, prefix string, parts ...string) string {
	mac := hmac.New(sha256.New, secret)
	for _, p := range parts {
		mac.Write([]byte(p))
		mac.Write([]byte{0})
	}
	sum := mac.Sum(nil)
	return prefix + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16]))
}
