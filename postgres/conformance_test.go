package postgres

import (
	"testing"

	"parley"
	"parley/storetest"
)

// The store keeps the contract of all stores.
func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) parley.Store {
		store, _ := opened(t)
		return store
	})
}
