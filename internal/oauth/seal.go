package oauth

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
)

// KeyBytes is the length of a Sealer's key.
const KeyBytes = 32

// Sealer encrypts what is stored about authorizations.
type Sealer struct{ aead cipher.AEAD }

// NewSealer makes a Sealer of a key.
func NewSealer(key []byte) (Sealer, error) {
	if len(key) != KeyBytes {
		return Sealer{}, errors.New("the key that encrypts tokens has the wrong length")
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return Sealer{}, err
	}
	aead, err := cipher.NewGCM(block)
	return Sealer{aead}, err
}

// Seal encrypts a value. It can only be opened with the same place: what is copied to another row does not open there.
func (s Sealer) Seal(value any, place string) ([]byte, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, s.aead.NonceSize(), s.aead.NonceSize()+len(raw)+s.aead.Overhead())
	_, _ = rand.Read(nonce) // it never fails
	return s.aead.Seal(nonce, nonce, raw, []byte(place)), nil
}

// ErrSealed is the error for what another key has sealed, or for another place.
var ErrSealed = errors.New("it was encrypted with another key")

// Open decrypts what Seal made.
func (s Sealer) Open(sealed []byte, place string, value any) error {
	if len(sealed) < s.aead.NonceSize() {
		return ErrSealed
	}
	raw, err := s.aead.Open(nil, sealed[:s.aead.NonceSize()], sealed[s.aead.NonceSize():], []byte(place))
	if err != nil {
		return ErrSealed
	}
	return json.Unmarshal(raw, value)
}
