module mayfly

go 1.25
