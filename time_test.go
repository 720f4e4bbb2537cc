package parley_test

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.org/parley"
)

func TestTimeJSON(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		time parley.Time
		json string
	}{
		{0, `null`},
		{1, `"1970-01-01T00:00:00.001Z"`},
		{1_700_000_000_120, `"2023-11-14T22:13:20.120Z"`},
		{-1, `"1969-12-31T23:59:59.999Z"`},
	} {
		encoded, err := json.Marshal(test.time)
		if err != nil || string(encoded) != test.json {
			t.Errorf("%d encodes as %s, %v; want %s", test.time, encoded, err, test.json)
		}
		decoded := parley.Time(7)
		if err := json.Unmarshal([]byte(test.json), &decoded); err != nil || decoded != test.time {
			t.Errorf("%s decodes as %d, %v; want %d", test.json, decoded, err, test.time)
		}
	}
}

func TestTimeRoundTrip(t *testing.T) {
	t.Parallel()
	last := parley.TimeOf(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC))
	rapid.Check(t, func(t *rapid.T) {
		want := parley.Time(rapid.Int64Range(0, int64(last)).Draw(t, "ms"))
		encoded, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got parley.Time
		if err := json.Unmarshal(encoded, &got); err != nil || got != want {
			t.Fatalf("%d became %s and then %d, %v", want, encoded, got, err)
		}
		if parley.TimeOf(want.Std()) != want {
			t.Fatalf("%d does not survive the standard library", want)
		}
	})
}

func TestTimeReadsAnyZoneAndRefusesTheRest(t *testing.T) {
	t.Parallel()
	var got parley.Time
	if err := json.Unmarshal([]byte(`"2023-11-14T23:13:20.1204+01:00"`), &got); err != nil || got != 1_700_000_000_120 {
		t.Errorf("got %d, %v", got, err)
	}
	for _, data := range []string{`"yesterday"`, `"2023-11-14"`, `1700000000`, `""`, `"2023-11-14T22:13:20"`, `true`} {
		if err := json.Unmarshal([]byte(data), &got); parley.ErrorCode(err) != parley.CodeInvalid {
			t.Errorf("%s: %v; want invalid", data, err)
		}
	}
}

func TestMoneyIsDecimalDollars(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		money parley.Money
		text  string
	}{
		{0, "0"},
		{1, "0.000000001"},
		{150_000, "0.00015"},
		{1_000_000_000, "1"},
		{-1_500_000_000, "-1.5"},
		{-1, "-0.000000001"},
		{12_000_000_010, "12.00000001"},
	} {
		if test.money.String() != test.text {
			t.Errorf("%d nanodollars read %q; want %q", int64(test.money), test.money, test.text)
		}
		var back parley.Money
		if err := json.Unmarshal([]byte(test.text), &back); err != nil || back != test.money {
			t.Errorf("%q decodes as %d, %v; want %d", test.text, back, err, test.money)
		}
	}
	for _, data := range []string{`"1"`, `true`, `1e40`, `-99999999999`, `{}`} {
		var back parley.Money
		if err := json.Unmarshal([]byte(data), &back); parley.ErrorCode(err) != parley.CodeInvalid {
			t.Errorf("%s: %d, %v; want invalid", data, back, err)
		}
	}
}

func TestMoneyRoundTripIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := parley.Money(rapid.Int64Range(-1<<62, 1<<62).Draw(t, "nanodollars"))
		encoded, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got parley.Money
		if err := json.Unmarshal(encoded, &got); err != nil || got != want {
			t.Fatalf("%d became %s and then %d, %v", int64(want), encoded, int64(got), err)
		}
	})
}
