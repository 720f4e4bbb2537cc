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

// Context is what a call shows of its session, compared with the session's call before it.
type Context struct {
	Agent string // the slug; "" for calls that show no session
	// Bytes is the size of what is shown, and Repeated that of its beginning that the call before it began with too; 0
	// if this process knows of none.
	Bytes, Repeated int64
	Dropped         int64 // estimated tokens that are left out for length from this call on
}

// CallEnded is a model request that was answered, failed or broke off.
type CallEnded struct {
	Call       *parley.Call
	Reserved   *store.Reservation // as in CallBegun
	Settled    *store.CallSettled
	FirstToken time.Duration // 0 without any chunk
	Took       time.Duration
	Context    Context
	Status     int                 // the HTTP status of the provider's failure, or 0
	Answer     func() []model.Part // the answer's parts, built on demand
	Broken     error               // if set, the store refused the call or a part of its answer, and Settled is void
}
