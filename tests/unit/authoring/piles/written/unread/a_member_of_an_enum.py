from up import kinds


def register():
    member = object.__new__(kinds.Color)
    member._name_ = "BLUE"
    member._value_ = 3
    kinds.Color._member_map_["BLUE"] = member
    kinds.Color._member_names_.append("BLUE")
    kinds.Color._value2member_map_[3] = member
