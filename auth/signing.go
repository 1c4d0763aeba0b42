package auth

import (
	"fmt"
	"strings"
	"time"
)

// SigningKey signs the tokens of offers, whose first byte is its ID. Package secret signs with it.
type SigningKey struct {
	ID      byte
	Secret  [32]byte
	Retired time.Time // zero: signs; else what it signed before that is still good
}

// FormatSigningKeys writes keys as lines of text, for a file that only the server reads.
func FormatSigningKeys(keys []SigningKey) []byte {
	var b []byte
	for _, k := range keys {
		retired := "-"
		if !k.Retired.IsZero() {
			retired = k.Retired.UTC().Format(time.RFC3339Nano)
		}
		b = fmt.Appendf(b, "%d %x %s\n", k.ID, k.Secret, retired)
	}
	return b
}

// ParseSigningKeys reads what FormatSigningKeys wrote. Its error never shows a secret.
func ParseSigningKeys(text []byte) ([]SigningKey, error) {
	var keys []SigningKey
	for n, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		k := SigningKey{}
		secret := []byte{}
		retired := ""
		_, err := fmt.Sscanf(line, "%d %x %s", &k.ID, &secret, &retired)
		if err != nil || len(secret) != len(k.Secret) {
			return nil, fmt.Errorf("auth: signing keys: line %d is not a key", n+1)
		}
		copy(k.Secret[:], secret)
		if retired != "-" {
			if k.Retired, err = time.Parse(time.RFC3339Nano, retired); err != nil {
				return nil, fmt.Errorf("auth: signing keys: line %d has no time of retirement", n+1)
			}
		}
		keys = append(keys, k)
	}
	return keys, nil
}
