"""Nodes as Kafka 3.9.1 wrote them: read from a running cluster, or made by its own encoders."""

from __future__ import annotations

# read from a cluster of two brokers with a move under way
REAL: dict[str, bytes] = {
    "/admin/reassign_partitions": (
        b'{"version":1,"partitions":[{"topic":"orders","partition":0,"replicas":[2,3]},{"t'
        b'opic":"orders","partition":12,"replicas":[3]}]}'
    ),
    "/brokers/ids/1": (
        b'{"features":{},"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT","EXTERN'
        b'AL":"PLAINTEXT"},"endpoints":["PLAINTEXT://127.0.0.1:49981","EXTERNAL://127.0.0.'
        b'1:49971"],"rack":"r1","jmx_port":-1,"port":49981,"host":"127.0.0.1","version":5,'
        b'"timestamp":"1794778094535"}'
    ),
    "/brokers/ids/2": (
        b'{"features":{},"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT","EXTERN'
        b'AL":"PLAINTEXT"},"endpoints":["PLAINTEXT://127.0.0.1:49982","EXTERNAL://127.0.0.'
        b'1:49972"],"jmx_port":-1,"port":49982,"host":"127.0.0.1","version":5,"timestamp":'
        b'"1794778094531"}'
    ),
    "/brokers/topics/orders": (
        b'{"partitions":{"22":[2,1],"23":[2,1],"24":[2,1],"25":[2,1],"26":[2,1],"27":[2,1]'
        b',"28":[2,1],"29":[2,1],"10":[2,1],"11":[2,1],"12":[3,2,1],"13":[2,1],"14":[2,1],'
        b'"15":[2,1],"16":[2,1],"17":[2,1],"18":[2,1],"19":[2,1],"0":[2,3,1],"1":[2,1],"2"'
        b':[2,1],"3":[2,1],"4":[2,1],"5":[2,1],"6":[2,1],"7":[2,1],"8":[2,1],"9":[2,1],"20'
        b'":[2,1],"21":[2,1]},"topic_id":"ak3VpdvISxegMV3H2a759Q","adding_replicas":{"0":['
        b'3],"12":[3]},"removing_replicas":{"0":[1],"12":[2,1]},"version":3}'
    ),
    "/brokers/topics/pairs": (
        b'{"partitions":{"0":[1,2],"1":[2,1]},"topic_id":"1fJw0ycJSzi4_TVXzLPC-g","adding_'
        b'replicas":{},"removing_replicas":{},"version":3}'
    ),
    "/brokers/topics/pairs/partitions/0/state": (
        b'{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1,2]}'
    ),
    "/brokers/topics/pairs/partitions/1/state": (
        b'{"controller_epoch":1,"leader":2,"version":1,"leader_epoch":0,"isr":[2,1]}'
    ),
    "/cluster/id": (b'{"version":"1","id":"-ZaNfLPxRJWVdpo2mwxnEQ"}'),
    "/config/brokers/<default>": (b'{"version":1,"config":{"log.retention.ms":"1000"}}'),
    "/config/changes/config_change_0000000000": (
        b'{"version":2,"entity_path":"brokers/<default>"}'
    ),
    "/config/changes/config_change_0000000001": (
        b'{"version":2,"entity_path":"users/al%20ice/clients/c%2F1"}'
    ),
    "/config/topics/orders": (
        b'{"version":1,"config":{"compression.type":"gzip","file.delete.delay.ms":"60000",'
        b'"max.message.bytes":"1000","min.insync.replicas":"1","index.interval.bytes":"409'
        b'6","unclean.leader.election.enable":"true","retention.bytes":"10000","delete.ret'
        b'ention.ms":"1000","cleanup.policy":"delete","flush.ms":"1000","retention.ms":"50'
        b'00","segment.ms":"100000","segment.bytes":"10000000","flush.messages":"1000"}}'
    ),
    "/config/topics/pairs": (
        b'{"version":1,"config":{"cleanup.policy":"compact,delete","retention.ms":"1000"}}'
    ),
    "/config/users/al%20ice/clients/c%2F1": (
        b'{"version":1,"config":{"producer_byte_rate":"1000"}}'
    ),
    "/controller": (
        b'{"version":2,"brokerid":2,"timestamp":"1794778094739","kraftControllerEpoch":-1}'
    ),
    "/controller_epoch": b"1",
    "/feature": (b'{"features":{},"version":2,"status":1}'),
    "/brokers/topics/orders/partitions/0/state": (
        b'{"controller_epoch":2,"leader":1,"version":1,"leader_recovery_state":1,"leader_e'
        b'poch":5,"isr":[1]}'
    ),
}

# registrations of brokers without a plain listener, of both versions that are written
REGISTRATIONS: list[bytes] = [
    (
        b'{"listener_security_protocol_map":{"A":"SSL"},"endpoints":["A://hA:1000"],"rack"'
        b':"r\\"\xc3\xa9","jmx_port":9999,"port":-1,"host":null,"version":4,"timestamp":"17947781'
        b'62250"}'
    ),
    (
        b'{"features":{"metadata.version":{"min_version":1,"max_version":4}},"listener_sec'
        b'urity_protocol_map":{"A":"SSL"},"endpoints":["A://hA:1000"],"jmx_port":9999,"por'
        b't":-1,"host":null,"version":5,"timestamp":"1794778162266"}'
    ),
    (
        b'{"listener_security_protocol_map":{"A":"SSL","B":"SSL","C":"SSL","D":"SSL"},"end'
        b'points":["A://hA:1000","B://hB:1001","C://hC:1002","D://hD:1003"],"rack":"r\\"\xc3\xa9"'
        b',"jmx_port":9999,"port":-1,"host":null,"version":4,"timestamp":"1794778162281"}'
    ),
    (
        b'{"features":{},"listener_security_protocol_map":{"X":"PLAINTEXT","Y":"PLAINTEXT"'
        b'},"endpoints":["X://[::1]:9","Y://:10"],"rack":"","jmx_port":-1,"port":9,"host":'
        b'"::1","version":5,"timestamp":"1794778752799"}'
    ),
]

# settings whose names and values need care
SETTINGS: list[bytes] = [
    b'{"version":1,"config":{}}',
    (b'{"version":1,"config":{"key.0":"\xc3\xa9\\"/0","key.7":"\xc3\xa9\\"/1"}}'),
    (
        b'{"version":1,"config":{"key.0":"\xc3\xa9\\"/0","key.21":"\xc3\xa9\\"/3","key.28":"\xc3\xa9\\"/4","key'
        b'.7":"\xc3\xa9\\"/1","key.14":"\xc3\xa9\\"/2"}}'
    ),
    (
        b'{"version":1,"config":{"key.28":"\xc3\xa9\\"/4","key.49":"\xc3\xa9\\"/7","key.35":"\xc3\xa9\\"/5","ke'
        b'y.56":"\xc3\xa9\\"/8","key.14":"\xc3\xa9\\"/2","key.42":"\xc3\xa9\\"/6","key.63":"\xc3\xa9\\"/9","key.0":"\xc3\xa9'
        b'\\"/0","key.77":"\xc3\xa9\\"/11","key.21":"\xc3\xa9\\"/3","key.70":"\xc3\xa9\\"/10","key.84":"\xc3\xa9\\"/12"'
        b',"key.7":"\xc3\xa9\\"/1"}}'
    ),
    (
        b'{"version":1,"config":{"key.35":"\xc3\xa9\\"/5","key.140":"\xc3\xa9\\"/20","key.56":"\xc3\xa9\\"/8","'
        b'key.14":"\xc3\xa9\\"/2","key.161":"\xc3\xa9\\"/23","key.133":"\xc3\xa9\\"/19","key.112":"\xc3\xa9\\"/16","ke'
        b'y.77":"\xc3\xa9\\"/11","key.98":"\xc3\xa9\\"/14","key.154":"\xc3\xa9\\"/22","key.70":"\xc3\xa9\\"/10","key.1'
        b'19":"\xc3\xa9\\"/17","key.91":"\xc3\xa9\\"/13","key.28":"\xc3\xa9\\"/4","key.49":"\xc3\xa9\\"/7","key.42":"\xc3'
        b'\xa9\\"/6","key.63":"\xc3\xa9\\"/9","key.0":"\xc3\xa9\\"/0","key.21":"\xc3\xa9\\"/3","key.126":"\xc3\xa9\\"/18",'
        b'"key.105":"\xc3\xa9\\"/15","key.84":"\xc3\xa9\\"/12","key.147":"\xc3\xa9\\"/21","key.7":"\xc3\xa9\\"/1"}}'
    ),
    (
        b'{"version":1,"config":{"a\\u0001b\x7f\\u001F":"x\\t\\n\\b\\f\\r\xe2\x80\xa8\\uD83D\\uDE00\\\\"}}'
    ),
]

# the order of partitions in topics of so many
PARTITION_ORDER: dict[int, str] = {
    1: "0",
    5: "0 1 2 3 4",
    12: "11 0 1 2 3 4 5 6 7 8 9 10",
    13: "11 12 0 1 2 3 4 5 6 7 8 9 10",
    24: "22 23 10 11 12 13 14 15 16 17 18 19 0 1 2 3 4 5 6 7 8 9 20 21",
    25: "22 23 24 10 11 12 13 14 15 16 17 18 19 0 1 2 3 4 5 6 7 8 9 20 21",
    100: (
        "88 89 90 91 92 93 94 95 96 97 10 98 11 99 12 13 14 15 16 17 18 19 0 1 2 3 4 5 6 7 8 "
        "9 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 "
        "47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 "
        "75 76 77 78 79 80 81 82 83 84 85 86 87"
    ),
}
