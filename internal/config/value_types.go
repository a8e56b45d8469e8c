package config

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"time"
)

// cureOf says how to write a value of the file that is not of its key's type; "" when it is.
func cureOf(from, to reflect.Type, value any) string {
	switch {
	case to == reflect.TypeFor[time.Duration]():
		if from.Kind() != reflect.String && from != to && !zero(value) {
			return cures["duration"]
		}
	case to.Kind() == reflect.Bool && (from.Kind() == reflect.String && zero(value) || !either(from, reflect.Bool)):
		return cures["bool"]
	case to.Kind() == reflect.Int && (from.Kind() == reflect.String && zero(value) || !either(from, reflect.Int)):
		return cures["int"]
	case to.Kind() == reflect.String && single(from):
		return fmt.Sprintf("this is text: put it in quotes, %q", fmt.Sprint(value))
	case to.Kind() == reflect.Slice && (single(from) || to.Elem().Kind() == reflect.String && from.Kind() == reflect.Map):
		return "write a list"
	}
	return ""
}

// ofItsType refuses a value of the file that the decoder would turn into one of its key's type, and so into
// something that nobody wrote: metrics: 3 into true, args: [true] into ["1"], timeout: 5 into nanoseconds. Text
// passes, because variables are text: the decoder reads it, and refuses what it cannot read.
func ofItsType(from, to reflect.Type, value any) (any, error) {
	cure := cureOf(from, to, value)
	switch {
	case cure == "":
		return value, nil
	case single(from):
		return nil, fmt.Errorf("%v: %s", value, cure)
	}
	return nil, errors.New(cure)
}

// inMilliseconds are the keys that other programs have in milliseconds, as a bare number.
var inMilliseconds = []string{"timeout", "verify.timeout"}

// leastMilliseconds is the smallest bare number that is taken for milliseconds. Somebody who writes timeout: 30 means
// seconds, and is told to write 30s.
const leastMilliseconds = 1000

// readMilliseconds takes a bare number for milliseconds where other programs do.
func (s *Settings) readMilliseconds() {
	for _, key := range inMilliseconds {
		n, err := strconv.Atoi(fmt.Sprint(s.viper.Get(key)))
		if err == nil && n >= leastMilliseconds {
			s.viper.Set(key, time.Duration(n)*time.Millisecond)
		}
	}
}

// zero reports whether the value is the empty one of its type: a bare 0 is a duration too.
func zero(value any) bool { return reflect.ValueOf(value).IsZero() }

// either reports whether values of the type are of the kind, or text.
func either(t reflect.Type, kind reflect.Kind) bool {
	return t.Kind() == kind || t.Kind() == reflect.String
}

// single reports whether values of the type are one word of the file that is not text.
func single(t reflect.Type) bool {
	return t.Kind() == reflect.Bool || t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64
}
