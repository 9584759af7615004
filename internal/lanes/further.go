package lanes

// maxFurther limits the lanes of a [Further]. A format needs one file or more for each of them.
const maxFurther = 256

// Further holds the writers of the visits on further lanes: all lanes except for the first one of each resource. W is
// the type of a writer. The zero value has no lanes.
type Further[W any] struct {
	lanes map[uint32][]W   // by location of the resource; the first one belongs to lane 1
	List  []FurtherLane[W] // in the order of their first use
}

// FurtherLane is a lane of a [Further].
type FurtherLane[W any] struct {
	Resource uint32 // location of the resource
	Number   int    // from 1
	Writer   W      // the writer that Get has created for the lane
}

// Get returns the writer of a lane of a resource. It calls create for a lane that is used for the first time; i is the
// index of the lane in f.List. ok is false if there are too many lanes (256).
func (f *Further[W]) Get(resource uint32, number int, create func(i int) (W, error)) (w W, ok bool, err error) {
	list := f.lanes[resource]
	if number <= len(list) {
		return list[number-1], true, nil
	}
	if len(f.List) >= maxFurther {
		return w, false, nil
	}
	if w, err = create(len(f.List)); err != nil {
		return w, false, err
	}
	if f.lanes == nil {
		f.lanes = map[uint32][]W{}
	}
	f.lanes[resource] = append(list, w)
	f.List = append(f.List, FurtherLane[W]{resource, number, w})
	return w, true, nil
}
