package observe

import (
	"time"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/store"
)

// CallBegun is a model request about to be sent.
type CallBegun struct {
	Call     *parley.Call
	Request  *model.Request     // what the model is shown; nil for an observer that reads no contents
	Reserved *store.Reservation // what it reserves of budgets until it ends; nil if none applies
}

// CallEnded is a model request that was answered, failed or broke off.
type CallEnded struct {
	Call       *parley.Call
	Reserved   *store.Reservation // as in CallBegun
	Settled    *store.CallSettled
	FirstToken time.Duration // 0 without any chunk
	Took       time.Duration
	Status     int                 // the HTTP status of the provider's failure, or 0
	Answer     func() []model.Part // the answer's parts, built on demand
	Broken     error               // if set, the store refused the call or a part of its answer, and Settled is void
}
