module waybill

go 1.26
