package store

import (
	"sync"
	"time"

	"example.org/parley"
)

// Damage records the first sign that a store's database is damaged or was replaced.
// It stays until the process ends: damage does not mend itself.
type Damage struct {
	Says string      // a sentence for people
	At   parley.Time // when it was first noticed
}

// Error is the sentence for probes. It gives no details, because anybody may ask.
func (d *Damage) Error() string {
	return "The database is damaged (noticed " + d.At.String() +
		"): see the server's log, run parley verify, and put a backup back."
}

// DamageNote holds the first damage that was noticed. The zero value is ready for use; it is safe for concurrent use.
type DamageNote struct {
	mu   sync.Mutex // guards first and tell
	at   *Damage
	tell func(Damage)
}

// OnNote sets a function that is called once, with the first damage.
func (n *DamageNote) OnNote(tell func(Damage)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tell = tell
}

// Note records damage, unless some was noticed before.
func (n *DamageNote) Note(says string) {
	n.mu.Lock()
	first := n.at == nil
	if first {
		n.at = &Damage{Says: says, At: parley.Time(time.Now().UnixMilli())}
	}
	at, tell := *n.at, n.tell
	n.mu.Unlock()
	if first && tell != nil {
		tell(at)
	}
}

// Noted returns the first damage that was noticed, or nil.
func (n *DamageNote) Noted() *Damage {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.at == nil {
		return nil
	}
	at := *n.at
	return &at
}
