package main

import (
	"context"
	"log/slog"
	"time"

	"parley"
	"parley/engine"
)

// How a server looks after its store by itself: a whole verification in small steps,
// with long rests, over and over.
const (
	patrolStep  = 2 * time.Second // between two steps: 250 messages or one table in a second at most
	patrolRest  = 6 * time.Hour   // between two rounds
	patrolAgain = time.Minute     // after an error of the store
	patrolBound = 2 * time.Minute // of one step
)

// patrol verifies the store in passing until stop is closed. What it finds is logged;
// damaged pages are noted by the store itself.
func patrol(stop <-chan struct{}, store parley.VerifyStore, log *slog.Logger) {
	place := parley.VerifyPlace{}
	rest := time.NewTimer(patrolStep)
	defer rest.Stop()
	for {
		select {
		case <-stop:
			return
		case <-rest.C:
		}
		ctx, end := context.WithTimeout(context.Background(), patrolBound)
		step, err := engine.Verify(ctx, store, place, nil)
		end()
		if err != nil {
			log.Warn("the store could not be verified in passing; trying again", "stage", string(place.Stage), "error", err)
			rest.Reset(patrolAgain)
			continue
		}
		for _, f := range step.Findings {
			log.Error("the store is damaged or was changed by another hand", "stage", string(f.Stage), "where", f.Where, "says", f.Says, "do", f.Do)
		}
		if place = step.Next; place.Stage == parley.VerifyDone {
			place = parley.VerifyPlace{}
			rest.Reset(patrolRest)
			continue
		}
		rest.Reset(patrolStep)
	}
}
