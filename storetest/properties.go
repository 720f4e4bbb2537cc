package storetest

import "testing"

func testProperties(t *testing.T, open Open) {}
