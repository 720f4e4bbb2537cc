package observe

import (
	"time"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/store"
)

// CallBegun is a model request that is about to be sent.
type CallBegun struct {
	Call     *parley.Call
	Request  *model.Request     // what the model is shown; nil for an observer that reads no contents
	Reserved *store.Reservation // what it holds of budgets until it has ended; nil when none bounds it
}

// CallEnded is a model request that was answered, failed or broken off.
type CallEnded struct {
	Call       *parley.Call
	Reserved   *store.Reservation // as it began
	Settled    *store.CallSettled
	FirstToken time.Duration // 0 when no chunk came
	Took       time.Duration
	Status     int                 // the HTTP status that the provider failed it with, else 0
	Answer     func() []model.Part // what came of the answer, made when asked for
	Broken     error               // set: the store refused the call or a part of its answer, and Settled says nothing
}
