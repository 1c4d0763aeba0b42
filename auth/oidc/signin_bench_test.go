package oidc

import (
	"testing"
)

func BenchmarkVerify(b *testing.B) {
	for _, alg := range []string{"RS256", "ES256", "EdDSA"} {
		b.Run(alg, func(b *testing.B) {
			keys := published(b, alg)
			token := signers()[alg].token(good().String())
			b.ReportAllocs()
			for b.Loop() {
				if _, err := keys.Verify(token, ours, noon); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
