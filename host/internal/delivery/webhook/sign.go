package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Headers of the Standard Webhooks scheme, version 1.0.
const (
	headerID        = "Webhook-Id"
	headerTimestamp = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"
)

// prefix begins secrets that contain the key in base64, as the scheme defines.
const prefix = "whsec_"

func signingKey(secret string) ([]byte, error) {
	if secret == "" {
		return nil, nil
	}
	encoded, ok := strings.CutPrefix(secret, prefix)
	if !ok {
		return []byte(secret), nil
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(key) == 0 {
		return nil, errors.New("the part after whsec_ must be base64")
	}
	return key, nil
}

// sign adds the scheme's headers: the message's id, the time in seconds since 1970, and
// "v1," followed by the base64 of HMAC-SHA256 over id, time and body, separated by dots.
// It uses the time of the attempt, so that receivers can refuse old requests.
func sign(h http.Header, key []byte, id string, at time.Time, body []byte) {
	seconds := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + seconds + "."))
	mac.Write(body)
	h.Set(headerID, id)
	h.Set(headerTimestamp, seconds)
	h.Set(headerSignature, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}
