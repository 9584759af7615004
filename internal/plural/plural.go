// Package plural puts the nouns in messages into the singular or plural.
package plural

import "strconv"

// Of returns a number with a noun, such as "1 byte" or "2 bytes". one is the singular of the noun. many is its
// plural, if the plural is not the singular with an s.
func Of[N ~int | ~int32 | ~int64 | ~uint8 | ~uint32 | ~uint64](n N, one string, many ...string) string {
	number := strconv.FormatInt(int64(n), 10)
	if n > 0 {
		number = strconv.FormatUint(uint64(n), 10)
	}
	switch {
	case n == 1:
		return number + " " + one
	case len(many) > 0:
		return number + " " + many[0]
	}
	return number + " " + one + "s"
}
