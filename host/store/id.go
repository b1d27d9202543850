package store

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
)

// DeriveID derives an id from a store's secret and the parts. The same parts give the
// same id, which cannot be predicted without the secret.
func DeriveID(secret []byte, prefix string, parts ...string) string {
	sum := derive(secret, parts)
	return prefix + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum))
}

// DeriveUUID derives an id like DeriveID, in the form of a random UUID (version 4).
func DeriveUUID(secret []byte, parts ...string) string {
	b := derive(secret, parts)
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// derive returns the first 16 bytes of an HMAC of the parts.
func derive(secret []byte, parts []string) []byte {
	mac := hmac.New(sha256.New, secret)
	for _, p := range parts {
		mac.Write([]byte(p))
		mac.Write([]byte{0})
	}
	return mac.Sum(nil)[:16]
}
