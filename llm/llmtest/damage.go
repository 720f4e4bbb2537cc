package llmtest

import (
	"math/rand/v2"
	"testing"
)

// damages is how often each recording is damaged.
const damages = 8

// damaged: whatever happens to the bytes of a stream, the rules of model.Model hold: no panic, one end, blocks in
// order, valid UTF-8.
func damaged(t *testing.T, format Format, factory Factory) {
	var wire []byte
	model := factory(t, Options{BaseURL: serve(t, lateServe(&wire))})
	encoded := encode(t, model, Request(format))
	random := rand.New(rand.NewPCG(7, 7))
	for _, stream := range Streams(format) {
		for range damages {
			wire = damage(random, stream.Wire)
			if _, err := Collect(model.Stream(t.Context(), encoded)); err != nil {
				t.Fatalf("%s, damaged: %v\n%q", stream.Name, err, wire)
			}
		}
	}
}

// damage removes, repeats or overwrites a few pieces.
func damage(random *rand.Rand, wire []byte) []byte {
	const bytes = "{}[]\",:\\nu0\x00\xff\xe4\n\r "
	wire = append([]byte(nil), wire...)
	for range 1 + random.IntN(3) {
		if len(wire) == 0 {
			return wire
		}
		at := random.IntN(len(wire))
		end := min(len(wire), at+1+random.IntN(80))
		switch random.IntN(3) {
		case 0:
			wire = append(wire[:at], wire[end:]...)
		case 1:
			wire = append(wire[:end:end], wire[at:]...)
		default:
			wire[at] = bytes[random.IntN(len(bytes))]
		}
	}
	return wire
}
