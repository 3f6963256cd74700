//! The map on flash, where few segments are left for what a mount copies.

use super::assert_holds;

/// A cut erase has left copies of a rescue that never ended, without its mark, and another page is suspect. Empty
/// segments were there, and still the suspect was copied to the segment with the originals of those copies. That mount
/// was cut, and the copies faded.
#[test]
fn a_suspect_leaves_the_original_of_a_doubted_copy() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=8 pages-per-block=32 blocks=24 dies=1 paired-pages=1 any-order mixed-erases
         paged blocks-per-segment=1 cache-entries=2
         logical-pages=261 endurance=100 seed=16121904024731090219",
        "write 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37
         38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73
         74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107
         108 109 110 111 112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127 128 129 130 131 132 133 134
         135 136 137 138 139 140 141 142 143 144 145 146 147 148 149 150 151 152 153 154 155 156 157 158 159 160 161
         163 164 165 166 167 168 169 170 171 172 173 174 175 176 177 178 179 180 181 182 183 184 185 186 187 188 189
         190 191 192 193 194 195 196 197 198 199 200 201 202 203 204 205 206 207 208 209 210 211 212 213 214 215 216
         217 218 219 220 221 222 223 224 225 226 227 228 229 230 231 232 233 234 235 236 237 238 239 240 241 242 243
         244 245 246 247 248 249 250 251 21 29 19 24 184 162+6 21, mount, write 40 39 36 49 248 20 10 184 30 72 8 241
         31 163 158 39 155 223+7 50 116+6 81 17 100+8 45, cut 3:50, mount, mount, write 23, cut 0:40050, write 48,
         mount, write 223 43 46 31 23 203 114, mount, mount, write 75, cut 1:52411, write 3, cut 0:62596, mount,
         mount, write 5, cut 0:43192, write 29, mount, write 192 174 39 120 97+6, cut 0:43008, write 38, mount, write
         33, cut 1:14307, write 11, mount, cut 0:7325, write 112, cut 5:48087, mount, cut 0:24491, mount, mount",
    );
}

/// Failures left no segment for the suspect, which was complete: its original had been erased, and a rescue was being
/// copied there when a program failed. That copy lay where the original had been, held the same, and faded.
#[test]
fn a_rescue_that_failed_where_the_original_was() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=0 pages-per-block=7 blocks=19 dies=1 paired-pages=1
         paged blocks-per-segment=1 cache-entries=2
         logical-pages=16 endurance=100000 seed=4252694619236115437",
        "write 0 13 4 3 10 0 7 13 12 0 4 9 1 3 12 5 9 2 3 5 1 2 1 10 2 6 11 8 13 10 6 8, fail 2:24803, mount, write 2
         12 3 15 0 2 15 0 0 11 12 5, mount, write 1, cut 8:12509, write 14, fail 0:51442, cut 4:40981, mount, fail
         3:13823, cut 5:3481, mount, fail 0:29384, mount",
    );
}

/// A program failed, and a cut hit its page in the next segment. Two suspects are left, and the mount that finds no
/// segment for them reads the first one once more, which fades. The page from before both was served, and the next
/// mount served the second one.
#[test]
fn the_first_of_two_suspects_fades_on_a_read_only_device() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=23 dies=1 paired-pages=1 mixed-erases
         paged blocks-per-segment=1 cache-entries=3
         logical-pages=7 endurance=100000 seed=3117338781048517318",
        "write 4 1, mount, write 5 3, mount, fail 0:7795 2:54557 4:3774 6:62102 8:48827, write 1, fail 0:16017, cut
         3:18462, write 1, cut 0:46695, mount, cut 1:22957, mount, cut 0:29357, mount, fail 2:29459, cut 5:47078,
         mount, fail 0:12877 2:11291, cut 4:15036, mount, cut 0:39582, mount, cut 0:33235, mount, cut 0:33341, mount,
         fail 0:30356 2:55218, cut 4:25626, mount, cut 0:1364, mount, fail 0:20731, cut 1:54333, mount, fail 0:28343
         2:54004 4:7772, mount, mount",
    );
}

/// A cut erase has left a translation page of a rescue that never ended. It could be read three times, which was not
/// enough to copy it. So it was made anew from the tags, and what had been discarded came back.
#[test]
fn a_rescue_fades_while_it_is_looked_at() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=8 pages-per-block=32 blocks=24 dies=1 paired-pages=1 any-order mixed-erases
         paged blocks-per-segment=1 cache-entries=2
         logical-pages=261 endurance=100 seed=16121904024731090219",
        "write 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37
         38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73
         74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107
         108 109 110 111 112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127 128 129 130 131 132 133 134
         135 136 137 138 139 140 141 142 143 144 145 146 147 148 149 150 151 152 153 154 155 156 157 158 159 160 161
         162 163 164 165 166 167 168 169 170 171 172 173 174 175 176 177 178 179 180 181 182 183 184 185 186 187 188
         189 190 191 192 193 194 195 196 197 198 199 200 201 202 203 204 205 206 207 208 209 210 211 212 213 214 215
         216 217 218 219 220 221 222 223 224 225 226 227 228 229 230 231 232 233 234 235 236 237 238 239 240 241 242
         243 244 245 246 247 248 249 250 251 252 253 254 255 256 257 258 259 260 43@4! 10@1 235@11! 16 8 45@33 20+2
         6@2, read 2, write 8@2 19@26 49@27 90 105+3@1 49@2! 39+2@2 191 214@1 18@1 258 22@39 160@1 15@1 126@38 17@2
         37+8@1 47@1 121@2 168 25@1 13 167+6@1 22 30+3! 57@15, flush, discard 12+3, write 35@2 113@1 137@25, discard
         225+2, write 107 20+5@4 21@1 102@6 98@1 41 76@1 22@2! 25 99+8@2 212 27+5@3 122@1 202@7!, clean 2, write
         15@25, flush, write 41+3! 252 34@2 192+6 36@2!, flush, read 216, flush, write 49@1 19@2, flush, write 15@30
         216+6 48 42@1 39 38@4 118@2 170 92 34@2, discard 135 56, write 16@4 91 1 207@2 13 6@1, flush, write 193@1
         23@1 10, flush, write 172@1, flush, write 22@1 27@2 47@1, cut 5:14729, write 46@2!, cut 74:27843, mount,
         mount, read 159, write 216@2 8@1, cut 0:63225, write 176@2, mount, write 118 30@1 68@5 47@1 210 17+3 207@2,
         discard 144+5, write 24@1 0@1 241@2 29@12, discard 36+2 30 23+4, write 33@1 241 31+7@2 102@2 49 128@2 86,
         discard 57, write 117@2 24@2 111@1 220@1, cut 5:10980, write 9, cut 4:31767, mount, mount, write 41+6@1
         193@37 76@2, discard 46+6, write 39@1, read 8, write 46@1! 93, discard 31+2, write 117! 240@2! 241 197 29@1
         23@2 39@10 2@1 19 25 109@1 216+8@4! 39 59 4, flush, write 34, flush, write 14@2 17@2 233@31 44@1 35@37,
         discard 110+4, flush, read 43, write 44+8@4 109! 18@2 32@1 182 258@1 6 182@2 35@15 15@38 41+8@1 140@2 71
         143@1, flush, write 186 256@15 7@1 21+6@2 47@1 12 37@1, read 42, write 173@5 5@1, read 162, write 25 40 15@1
         39, flush, flush, write 73@1, flush, write 28@2 241@2, flush, write 7@2 27@1 193, flush, write 19@2 168@36
         29+6 29@2! 86@1 233@2! 57@1 153 46 5@1! 244@1 21 29@2 19@3, flush, write 24@39! 184@20 79@2 25@2 1@2 17@2 5
         135+8@4 162+6@1 21@1, verify, mount, write 40 39 22@1 6@35, flush, write 157@1 34 13@1, discard 8, write 36@2
         49! 156 198@2 12, flush, write 248@4 20@1 10@2 184@2, clean 8, discard 115+2, write 30@1 72@2 8@2 241 31@2!
         163 158@2 39@2 155 223+7@3 50@2, flush, write 116+6 81 17@1 100+8@4!, discard 247+2, write 18@36, cut
         5:35408, write 45@2, mount, clean 11, write 15@37!, discard 96+5, write 248, discard 180+3, write 186+8@3
         153@10!, discard 183+2, write 11@2 27@2 43@1 89@1 8@9 175@1 66+6@2!, read 19, write 2@2 15@38 144@1 43@2 50@2
         259 50@2, flush, write 251@27, discard 204+4, write 0 1@1 24 23@3 113@30 46@32 48@1 209@2 94 165! 23@2 128@2
         33@1, read 19, write 228 247@1 36, flush, write 99 48@1, cut 22:40050, write 41+5@2, mount, write 23@1 48
         175@18, flush, write 16@1 35@1 34@1 0@1 38@2, flush, write 44, flush, write 92+3, discard 32+6, write 11
         257+4@3 181, discard 237+2, cut 8:55173, write 35@2, mount, write 45@2 129@2, read 2, write 5+4@1 2@25,
         flush, write 1@1 217@1 107+7@3 69@1 184 157@6 15@25 33 40@5 164@2 40@5 163@19! 21 40@1 64@2, discard 236+3,
         read 95, write 155@1 197@1 0@2! 39@2 229@2 205@2, discard 24+5, write 41 42@8 17@2 85, discard 54+5, flush,
         write 35@2 37@2 38@1 103@2, flush, write 53@15 184@2 223@35 25 11@1, discard 36+4, write 43@1 46@2 31@19
         23@2! 203 114@2, cut 1:26541, discard 1+6, cut 0:57189, mount, cut 1:4518, mount, cut 1:33233, mount, cut
         1:50639, mount, cut 0:4006, mount, cut 0:12919, mount, cut 1:46369, mount, cut 0:38322, mount, cut 0:22994,
         mount, cut 0:65234, mount, cut 1:16165, mount, cut 0:28571, mount, cut 1:42955, mount, cut 0:26406, mount,
         mount, read 24, write 44, discard 113 221, flush, write 236@31 1 28@1 18@2 151 11 46@1 9+3@4 15@1 139@2 31@13
         252, flush, discard 197+3, write 175@1 200@2 40 224@9 15@16, discard 159, write 174@38 79 229@1 18@1 119 256
         196@15 2@2 4@11 62, discard 220+4 208, write 31@2 91@39 27 56 38@1, flush, write 23@5 45@1 25@1 20@1, flush,
         read 27, write 48@2 45 16@5 240@1! 47@2 1@18 49@2 16 177@2 92 36@2 155@5 33@2 178@1 39@1 65 45@2! 42 111@1,
         cut 4:62188, write 15+3@3, mount, write 63@2 169+3@4 31@15, discard 71+4, write 182@2, read 15, write 21 35@1
         188 7@2 49@2 20@39 196@2 223! 0@1, flush, write 2@1! 17 46 211@13 39@1, flush, write 12@10 247@1 10@39, read
         191, write 8@2, flush, write 160 33@2 40@1 250@30 16 40 21@1 10@1, read 36, write 50 138 102@2 6@2 13+7@4
         36+7@1, read 250, write 21 27@2, discard 206+5, write 38@1 146@7, flush, read 188, write 49@1! 0 1@21 48@1
         0@2, discard 97+3, write 37@22 17+6@3! 226@1, discard 6+3, write 157@1 1@16, discard 23+3, read 74, write 37
         2 57@1 220+3@2!, read 96, cut 1:30367, write 51@1, cut 19:60532, mount, mount, write 30@1 43@2 9@1 22@1
         200+2@2, cut 0:52796, write 22, mount, discard 144, write 1@1 18@2 122+3@3 1@31 13@21 35@1, discard 40+4,
         write 50@1 150@2, discard 168+2, write 9+4@1, flush, flush, write 132 26@28, cut 5:26468, write 34+2@1,
         mount, write 41 42+2@1 14@25 41@2 34@2 50@2 36@1 28, flush, write 180 8@2 20@2 7! 0 214@2!, flush, write 34@2
         18@23 113+2@1 164@3, flush, flush, read 133, write 233@1 220@1, cut 1:39346, write 96@11, mount, read 75,
         write 19@1, flush, write 176@14 200, discard 47+5, write 175@2 3@2 40 47 8 56 37@2, flush, write 12@1 36@2
         26@1! 10@2 22, discard 50, write 9 19, read 23, write 0@2 128@1 5@2 2@2 224@2 171 25! 115, flush, write
         49+4@2, cut 0:50826, write 29, mount, read 80, write 125+8@4, discard 18+2, write 116@2, discard 50+6, write
         99 94 77 115 3@2 27 86@1 173 4 197@2, cut 3:35076, write 250@1, mount, write 44@2, flush, write 50@1 44@2
         20@1 15@30, discard 41+4, write 18, read 232, write 35@2! 24+2 7 30@17 167+7@2 30@1 123@2 9@1 29@1 42@2 22@24
         57, discard 21, flush, write 152, discard 183+2, write 149 59@1 239@1 201 21@2!, discard 36+4, write 200 35@2
         116, cut 3:7868, write 112@1, mount, write 12@34 49@2 16@5 38 13@9 164@2 7@1 11@2 11@14 109@2 230@1, read
         234, write 44 94@1 41@7 55+4, cut 1:40286, write 13, cut 75:64857, mount, mount, write 12 6@1 110@17 60 142@1
         120@1 17 234@19 48, discard 169+5, write 37+4@2 91@2 51@1 37 21@2 27+2@2 26@2 5@2! 47@15 10, flush, clean 1,
         write 24 57 46@1 22@2 54@26 18 38 9@5, cut 9:46404, write 211+7@2, mount, write 151+7@3 15@2, discard 66,
         write 20@2 168@2! 93@2 42, flush, write 35@3 26@1 145+8@3 6! 171@2 10@1, clean 8, write 118, read 18, flush,
         write 51 250@5! 50@14 134@1! 4 232@1 17+6@3 233@13 182@2 9@2, discard 6+6, write 46@19 149, flush, write 38@2
         178@1 138@2, read 122, write 213@2 166! 152@2, discard 213+6, flush, discard 40, flush, write 88 50+4@4 260@1
         130, cut 5:52865, write 192@1, cut 16:19571, mount, mount, write 47@8 32+8@3, read 46, write 99 183 99@1 8@2
         20+3@4 67@2 50! 94@2 36 44 152 163+6@3 3@2 184@1 145@2, discard 38, cut 1:20028, write 12@1, cut 0:41834,
         mount, cut 1:16210, mount, mount, clean 10, write 234@3 40@2 18@32, flush, write 46@13 246@39! 179@27 9@1 37
         177@1 58@1 19@2 2@1, read 7 39 36, write 260@2 27@1, discard 15+6, write 94!, read 6, write 71@31 27+3@3 37@2
         1@2 38@2, discard 16+5, write 158@3!, cut 2:55224, write 45, cut 4:5842, mount, cut 3:30476, mount, mount,
         flush, write 188@1 1@2 203@2 101@35 107@1 19 48 56 39@5 36@2 18@1 6@2 40@2 1 37@32, flush, write 154 161@7
         93, discard 181+2, write 31@1, flush, write 28@2 23@16, flush, write 42, discard 137+2, write 35@2 36@1 23@2!
         23@1 44 39@1 116@2, discard 58, write 146@1 45@2, read 26, write 11@2 1@1, flush, flush, write 41@18 16 214@2
         167@2 95@34 44@2! 234@2 7@37 4@1 182@2 19@1, discard 174+4, write 0@1 214@1 61 45 39@1 17@2 18 150@1 40@2
         51+4@2 9+5@1, discard 9, write 32@1, read 82, write 160 15@1 72+5@2 72@2 14@1, cut 0:42333, write 205@2, cut
         0:56915, mount, mount, read 229, write 6+5@4 205@2 49+5@2! 45@2 220, cut 1:51815, write 257, cut 15:36092,
         mount, mount, write 235@39 258, discard 243, clean 8, write 11 59 1 4@18 127@1 36@1 0@1 39@2 81, read 49,
         discard 257+3, write 1@2 176 63@1, discard 216+3, write 87@2 148! 211 1 45+6, flush, write 242@16, read 211,
         discard 19+2, write 114@2 215@1 187, discard 186+5 47+3, write 66@2 70@2! 71@1 3@2 24@16! 21 31@1 36, read
         36, write 31@2 14@1 29@1 46@2 241@26 37@11 38@7, flush, write 2@35 37@2 2 18@1 48 172 122 21@3 15@2 28@1,
         discard 20, write 26@1 14@2 85, read 6, write 59 50+5@2 221@36 199@1 40@29 28, flush, write 15@2, flush,
         flush, flush, write 124 123@2 18@12 17@2!, read 25, write 40@2 37@18 44@2 9@2 11@2 256+3! 9@1 23@1, read 173,
         write 50, discard 42+6, write 39@1 45@7 33@1 212@2 5@19! 13@29! 45@2 82@1, cut 1:23021, write 156, cut
         0:38190, mount, cut 0:16218, mount, mount, write 47@2 50 43@2, discard 175+3, flush, write 3@1, read 242,
         write 7@2 14@1, discard 0+5, write 173 42@11 72 2+4@3 38 82 19@2 116 9@1, read 25, write 42@1 43@21 230@29 30
         68@15 49@18 176 96@2 17@1 39@15, flush, write 94 211+7@1 235, discard 181+2, write 125@2 1@1 21@2, flush,
         write 33@24 183@1, flush, write 96@1 216@2, flush, write 139@30 40@2 43@2, read 0, write 77@18 37@2 254 19
         219@1 23+5@2 252@2 18@1 188@2, read 255, write 24@2 25@1 20@2 80@2 230, discard 12+4, write 208 49+8@2 32@1
         210@4 41@2 16@1 15@2 41@1, cut 4:52411, write 208, cut 53:10460, mount, mount, flush, write 32@2 173@1! 192
         26+5 75@13, clean 2, cut 1:62935, discard 82+5, mount, discard 90+3, write 102! 2@1 78@1 255@1 181@2 6 174
         22@2, discard 156+4, write 217 6@1 1, flush, write 80 50@2, read 33, write 239@33 7@1 27 231 42@14 19@2
         183@32 205 51+5, flush, write 10@36 88@1 13@1 38 23 49@1! 245 6@28 4@1 10@5 37@1 35@19 3@1, clean 10, write
         11@23 51 121@1, discard 8+4, write 252 38, discard 9+3, write 24@6 39@2! 207@1 33@1 96@1, discard 2+5, write
         81 30@36 43@1 50@15 14+5@1, read 28, write 187+4@1 142+2@1, flush, write 174, discard 62+5 3+3, write 187@2
         57@2 46@1 46@2 45@1 146@2, discard 27+3, write 27@1 9@34 258 20@2 213@2 51@2, read 97, discard 191+5, verify,
         cut 15:34433, mount, cut 13:58842, mount, cut 18:24796, mount, cut 6:46263, mount, cut 0:25663, mount, cut
         15:49507, mount, cut 6:22036, mount, cut 2:50349, mount, cut 16:36318, mount, mount, read 125 124, write 28
         22@2, clean 4, write 46 21@1 40@2 125+2@4! 113@2 76 20@36 11@1 19 182@1 7 38@1 18@2 44 29@2 31@1 257@21
         43@27! 47@34 20 228@35, discard 49, write 147@2! 23@2 218@2 41@16 34@13 14@1 92 26 35+8@4! 12 15 144@16 37@1
         26@1 216+6@1! 111@1 14@16 101+2! 32@2 222 48@3 51@1 29@2 213@2, discard 117, write 16@2, discard 47+4, write
         82@1 57+5@4! 18 46@32 220+3@1 154@2 250@2 8@1 34 34@2 34@1 14 36 141@1, discard 130, write 13@1 131@2 79@1
         126@1 34@2 17 91@39 30@1 52@24 27@2 2@2 23 150@1 121! 36 256@1 18@2 64@2 34 18@1 25@1 150 54@38 24@2 17@11 44
         61@1 46, clean 8, write 63@17, cut 3:18085, write 4@2, mount, flush, write 229+7@3 0@1 226 36@2 38 10@27 7@27
         81@19! 232@2 245, flush, write 83@1, read 41, write 51 30!, read 228, write 205@2, read 90, write 179@2 40@1
         4+8@2 233@2 25@2 2, flush, write 162@1 15 4 64 15@2!, discard 232, cut 4:64055, write 44, cut 0:40666, mount,
         cut 1:53859, mount, mount, write 47@2!, read 10, write 83@1 32+8, discard 98+6, write 4 38@2 220@30 114@1 47,
         discard 170, write 206+2@1 97@2 108+2@1 28@18 7@24 67 8 252@35 89 49@2 38@6 51@11, flush, flush, write 48+8@3
         51 30@2, discard 72+2 174+4, write 189@2, flush, discard 26+3, read 157, write 75+6@1 187@1!, discard 41+5
         74+2, write 214@2 39@2 51@2 76@1 36 224@1 0@1 17@2 22@2 5 42 204+4@4 95 63 244@2 8@2 181@2, flush, discard
         163+6, write 174@2, read 34, write 246@21, read 20, write 17! 29@2! 179 44@2 24@1 44, cut 0:55139, write
         40@36, cut 16:2493, mount, cut 6:14055, mount, cut 34:63109, mount, mount, write 141@2! 49@1 10+8 188 120@1
         123@31 35@2 136@2 82@28 3@1, cut 0:12207, write 44@1, mount, write 210@2 36@9, cut 18:28753, write 191+5,
         mount, write 256+5 44@1 234+3@2 87 3@27 23@1, discard 38+5 80+6, write 114+7@2 44 182@1, cut 22:61134, write
         90+6@2, mount, write 46 26@1 44@2 68@11 2@1 25@2 70@2 128+4@1 105@2, discard 108+2 174+2, write 28, discard
         36, write 7 10+7@3 4@1 30@1 29@1 1@2 15@1! 10+6@3 57@1, read 230, write 15 26 238@2 11 32@2 143+8, discard
         13, write 43 10 39!, discard 253, write 243 143 84@3 113, cut 0:12317, write 14@2, cut 40:28520, mount,
         mount, write 225 11@2 9@2 20@11 85 22+2@2 3@2 50@33, read 22 30, write 41@2 107@1! 10@1 49@11 49@35 26@2 5@1
         37 251@2, flush, read 18, write 52@25 164@12 37@1 217@1 0@1 6+6@4 16@1, flush, write 250@32, clean 10, write
         32 10+8@1 98 236@15 10@2! 61+2 64 66 40@1 146@1 16@22 148+4@1 124 199@1 156@2 51@14 47@18 44 43 24 20! 6@1
         136 167 10@2, flush, write 23@1 21 46@18 24 135@2 49@2 47 232@11 33@1, read 179, write 40 37+6@2 99+3@4 14
         14@2!, cut 14:63162, write 179+8@4, mount, write 49, flush, write 14@1 16@1 251+4@4, read 51, write 225@8
         150@2 4@1 143@2 27@1 13, flush, write 197 1@24 36@34 158+4@2 147 84@2 224@18 237+5@1, discard 124+6, write
         232, discard 163+5, write 143@2 158@34 22@1 88@2 221@10 234 11, flush, write 153, cut 1:64504, write 219+5@1,
         cut 0:63490, mount, mount, discard 32+6, write 189@2 242 217@1, flush, write 25@1, clean 12, write 180@1
         162+5 15+5@4, discard 49+4, flush, write 1+2 12 26@1 0@2, read 24, write 227 0+6@3 42 14@1 14 0@1, read 3,
         write 12@2 259@4 1@1 29@36 30@2 36@27 32 147@2 6@2!, flush, write 56 23@1 238@1 3@1 6+8@4 43@1 116@39 46+4@2
         201@22 131 29@2 187@1, read 124, write 32 44@1 211@31 46@2 108@36 179+6 46@1 185@22 137@2 130@1 1@1 37@29
         38@11 12@1 207@1 79 244@39 239 31+2@2! 171@2 18@5, discard 100+4, write 8 2@1 117@2 141 29@1 0 32@27 41@2
         21@2 0@2 20@6 54@1 26@1 2@2 156@2, cut 0:31904, write 3@25, cut 1:62596, mount, cut 11:43192, mount, mount,
         flush, write 5@2 29 15@2 50@2, cut 0:40151, write 27@3, mount, write 34@2, cut 4:51346, write 35@16, cut
         45:56791, mount, mount, write 192 174@29! 90 179@1 39 120@5, flush, write 46 252@13, read 219, write 18 28@1,
         discard 44+4, write 71@2 2 74@1 19@36 98@2 20 243 231@2 40@1, discard 30, write 251@2 141 45 4@2 14 43@1!,
         read 11, write 31@9 17, discard 232+3, write 112 246@1 201@2 3@3 26@2, flush, write 239@2 0 37+6@2, discard
         19, write 117 236 235@2 34@3 7@15 31 8 122+7@4 64 33@6 30@1 199 193@1 7@1 39 46 26@1! 27@1 1@2 61+4@2 228@2
         104@1 157@3 46 47@1 203@24 44@1, flush, write 17@32 89@2 19@35 41 26@2!, discard 195, write 97@1 16@32,
         verify, cut 4:62724, shutdown, mount, cut 3:45067, write 22@1, mount, read 37, write 100@2 27@2 160@1 82@2,
         cut 2:51249, write 25, mount, write 22@1 149 45@11, cut 5:14307, write 97+6@2!, mount, write 209 3 257@2 4
         11@2, flush, write 31@37 40+6@1! 179 149@1 31@1 38@1 14@2, cut 4:30080, write 16@9, mount, write 33@1 257
         22@2 27@2 24 46@32 176@24! 21! 123 35@2 47@1 152@12 130@2, discard 79, write 105, discard 22, write 17,
         flush, write 35@2 44@2 241 10 195@8 46@1, discard 104+2, write 45 70@9 30@2 129 76@2 147@1 76@1 6 59@2 11
         50@2 32, flush, write 0@2 234@2 29! 238@2 1@2 50@2, cut 1:60476, write 37@2!, mount, flush, write 127@2,
         flush, write 156@1, flush, write 42 28 224@1 42@9 43@38 169@1 7@2 28, flush, write 145@2, flush, write 250@2
         51@2 43@2 44@2 242@2 25@1, read 62, write 30@24 20, discard 183+3, write 43 129@32 53 126@3, flush, write
         46@29 4@31 152 39@1, cut 3:11678, write 103, mount, write 25+8@2 1 106@1 80 187@20 24+4@4, cut 0:32663, write
         84@10, cut 2:55108, mount, cut 2:55648, mount, cut 3:59582, mount, cut 0:65398, mount, cut 2:2076, mount, cut
         0:36192, mount, cut 1:27586, mount, cut 5:34615, mount, cut 0:48123, mount, cut 2:8999, mount, cut 5:62068,
         mount, cut 5:36136, mount, cut 4:48576, mount, cut 1:28753, mount, cut 1:1769, mount, cut 3:7595, mount, cut
         2:19344, mount, cut 0:62853, mount, cut 2:7922, mount, cut 3:31721, mount, cut 3:23774, mount, cut 1:63959,
         mount, cut 0:14519, mount, cut 2:60104, mount, cut 2:58233, mount, cut 3:5400, mount, mount, write 33@2 11@35
         20@2 13@8 98@5 77 64@30 226@2 34@1, read 109, write 141, flush, write 21@23 42@2, discard 4+3, write 230@1
         182@1 169 4@1 109@2!, flush, read 10, cut 2:52609, write 34!, mount, write 33@2 50@34 15 185@1 50, discard
         255, write 41@2 9@1 3+8@1 167+7@2, read 4 114, write 161@1 7@10 9@1 11! 27@20 2@1 22@2 60@2 48, discard 52+4,
         write 11@1 14+4@2 47@1, flush, write 35@2 2@1 166 27+2@2 37@26 16@2 114@1 242@2 30 193@1 178@1 209@1 129@2
         4@2 112 14@1 23@2 184 20 34@2 19@1 23@2 92@17 253@1 170@2 16+3, flush, read 39, flush, write 34@2 9@1 38@1,
         discard 69+6, clean 9, write 30@2 100 83@2 39@1 14 62@2 6@1 51@2 243+6@3, flush, write 13@1 18@2 223@34,
         flush, flush, write 9@1 51@1 51@1 177 165@1 33@2 17@1, flush, cut 0:7755, discard 95+4, mount, write 234@2
         12@2, cut 2:8920, write 136, mount, write 51@36 36@2 25@29 28@2 2 69 125@1 199 55@8 9, clean 1, write 46@1
         38+2@2! 14 209@1 246@1 51@2, discard 182+2, write 159+4@2 47@1 51 17, discard 16+2, write 32@32 190@1 49,
         discard 6, write 219@16 0@1 7@2, read 30, write 233 33 231@39 23@2 24@1 34@35 20@2, cut 0:39777, write 196@8,
         mount, flush, read 5, write 11 39+8@1 141@2, flush, write 27@1 209@1 41@17 17 80@2, read 100, write 13@1
         23@32 42 148@1 94 15 192@2 162 6@1, discard 168 46+6, flush, write 41 47! 40 5@2 18@1 5@1 162@30, read 238,
         write 214, flush, write 36@24 16@2, read 3, write 34@1 50@1 28@1 47 34@19 38! 165 194 49@1 43 89 41@2, cut
         1:1054, write 137, cut 24:54189, mount, cut 10:40241, mount, cut 8:36942, mount, cut 11:24287, mount, cut
         13:36080, mount, cut 19:39680, mount, cut 16:43333, mount, cut 8:42648, mount, cut 11:57860, mount, cut
         13:5290, mount, cut 19:8225, mount, cut 0:16260, mount, cut 16:18142, mount, cut 19:24579, mount, cut 11:914,
         mount, cut 15:46867, mount, cut 9:619, mount, cut 6:12684, mount, mount, write 60 193@1 0@28 42 44 108@5 250
         220+8 127@23 82@2 53, flush, write 76@1 21+5@1 213@1 11@27 39@11 3 173@2 26@1 49@1 12@1 36@2 260 2 246! 33@2
         28 27@1! 9@1 9@33 46@1, read 26, write 169 10@10 45@39! 6, flush, cut 28:24918, write 118+7@1, cut 0:1225,
         mount, mount, write 4@2 12@2 33@2 20 6@1 204@2! 21@1 11@2 28 207@2 104 25+3@4 87@1 14+3@4! 0@1 59@2 45,
         flush, write 15@1 206@1 20 157 2@26, discard 32+4, write 20@1 24@1 232@1 45 191@2! 173@2 6@1 1@2 49 38@1, cut
         11:6869, write 104+8@2, cut 16:64010, mount, cut 1:61048, mount, mount, write 107@1 36 124@2, discard 137+2,
         write 10 50@1! 32@2 16@27 0@34 19@6, read 1, write 44+2@3, flush, write 113@18 250@2, discard 193+6, write
         146@1 255@2 243@1 45, discard 96+4, write 191@1 58 45@2 123@2 150@1 31 34+3@3 218 185@1 27, read 38, write
         74@16 140@1 3@2 10 27@2 69@2, flush, write 61@2 204@1 30, read 203, write 42 5@1, discard 98+3, write 140@2
         20 71@2 49 60 162@1 102+2@1! 216@1, discard 237+5, write 105@2 133@38 49, discard 177+3, write 49@23 93@2!,
         read 10, cut 3:3371, write 176@1, cut 70:10655, mount, cut 1:28123, mount, mount, cut 1:42453, write 35+7@4,
         mount, write 42 7@2 11@2 102@2 45@34, flush, write 45+5@2 129@18 40@1 8@34 29@20 87 180+2@2 8@2, flush, cut
         2:25603, write 5@2, mount, cut 2:11959, write 35+5@4, mount, write 108@1 234@3, read 24 63, flush, write 31
         191@1 62@12 25+6@3 120@1! 41+4@3 16@1 15@1 43@26 2@1 25+5@1 157@1! 151@1 6@2 49@2 4 39, discard 32+4, cut
         5:14590, write 112, cut 46:18135, mount, cut 0:24491, mount, mount",
    );
}

/// Failures had made a device read-only. Of a suspect copy it served the original, in a segment in erasure: of that the
/// header, a slot and another one could not be read, and none reads as erased. The original faded (SPEC M5).
#[test]
fn a_read_only_device_looks_for_the_header_of_the_original() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=5 blocks=27 dies=1 paired-pages=1 mixed-erases
         fading-pairs
         paged blocks-per-segment=1 cache-entries=40
         logical-pages=16 endurance=100 seed=10525485012325229193",
        "write 7 12, discard 10+5, write 11 6 5 13 6, flush, write 12 1 8 5 6 8+3 0 14 1 11, fail 0:1939, write 0,
         fail 0:45498, write 1 1+3, mount, fail 0:22728, write 1 8, mount, write 15, fail 0:55972 2:31145 4:18544
         6:14285 8:9236 10:5013 12:11816, mount, cut 3:10810, write 3, mount",
    );
}

/// A device has 12 good segments of the 19 that it needs. The erase of a rescue was cut, and what it has left is copied
/// once more; but that mount is cut, too, and then no segment is empty. The copies were believed, the segment with the
/// original of one of them was erased, and that copy faded. Now the original counts, which can be read (SPEC M13).
#[test]
fn a_worn_device_has_no_empty_segment() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=16 pages-per-block=8 blocks=21 dies=1 paired-pages=1 mixed-erases
         paged blocks-per-segment=1 cache-entries=40
         logical-pages=35 endurance=100000 seed=14744917649506699211",
        "write 32+3 21 31 23 8 12 30 4 1 14 6 8 12 21 4 27 3 8 10 29 18 5 16 9 11 12 3 7 3 8 5 19 12 22 20 7 26 28 0
         8 3 26 7 29 1 27 11 22 21 21 33 13 17 4, mount, write 3, cut 1:14062, write 13, fail 0:46794, cut 2:20715,
         mount, fail 0:58283 2:57314 4:28360 6:14370 8:37435 10:50160, cut 13:125, mount, fail 0:2686, mount, cut
         7:8247, mount, cut 0:718, mount, cut 0:41908, mount, mount",
    );
}

/// The same in a long history (`mixed-decay` 2000000005365): failures have left few good segments, a rescue was cut,
/// and then its erase. It took the mark and left two copies, which faded.
#[test]
fn what_a_doubted_rescue_was_made_from_counts() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=16 pages-per-block=16 blocks=42 dies=1 paired-pages=1 mixed-erases
         paged blocks-per-segment=1 cache-entries=3
         logical-pages=378 endurance=100000 seed=6281186626596238891",
        "write 112+8, mount, write 162+5, cut 2:1841, mount, mount, write 287, part 200, write 256, part 454 382 416,
         write 315 278, part 557 53, write 341, part 47, mount, write 275 335 67 305, decay 6, mount, mount, write 121
         50 48 146, part 734, write 21 107 254 270 319 54, part 717 113+2@1, write 182 6 239 373 23 306 7, part 229,
         write 124 191 250 284 59 270 326 312 318 75 330, fail 1:21379, write 178, fail 0:57481, write 143 314 253 184
         26+3 120 365 209, part 225+2@2, write 19 27 37 34 73 96 336 88 20+4, part 118, write 315 209 147 129 221 167
         260, part 543, write 333 92 332 218, part 286 38, write 75 147 135+6 93 38, fail 0:59246, write 370, part
         283, write 93 36 63 22+5 127, mount, mount, write 199 223, mount, write 205+4, part 547+2@2, write 12 313 33
         203 0 240, mount, write 19+6 46 292 212 112, part 694 644, fail 2:38467, part 330+5, write 197, mount, part
         290, fail 0:15518 2:22639, write 273+8 269 306 296, part 543, write 299+6, part 624, write 222 255 127 193+8,
         mount, write 346 330, part 554, write 38 317 228, mount, write 352+8, fail 0:62247 2:61925 4:26866 6:1128
         8:7398 10:53505 12:62779 14:58803 16:207, mount, fail 0:14325 2:39809 4:47245, mount, cut 6:4267, mount, fail
         0:37106, cut 2:62960, mount, cut 0:18358, mount, mount",
    );
}

/// Programs and erases have failed in 24 of 54 blocks, and no segment is empty. A rescue was cut, and its erase as
/// well, which left the copy to fade. What that was made from is newer than its translation page, so no entry of the
/// map names it (SPEC M13).
#[test]
fn what_a_doubted_rescue_was_made_from_is_not_in_the_map() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=0 pages-per-block=5 blocks=54 dies=3 paired-pages=1 mixed-erases
         paged blocks-per-segment=1 cache-entries=40 policies=greedy,by-handle
         logical-pages=42 endurance=100000 seed=2479931922587464270",
        "write 1 2 3 6 7 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 2+3, mount, write 18 33@2, mount, write 27,
         mount, write 10, mount, write 12 41, mount, write 9, fail 5:39149, mount, write 24 29 5@1, mount, write 8
         21@1, fail 0:40314 2:24940, write 2@2, cut 2:17182, mount, fail 0:1661, cut 1:33784, mount, cut 1:15871,
         mount, mount, write 17, cut 2:40777, write 0@2, mount, cut 1:27496, mount, mount, fail 1:11097, write 14@1
         28, mount, fail 0:20557 2:37758, write 34, fail 1:15539, cut 2:37038, write 32+4, fail 0:41463 2:64381
         4:61057 6:42233 8:49132, mount, fail 0:30251, write 7, fail 0:22080, mount, cut 0:34519, write 24, fail
         0:45077, mount, fail 0:62923 2:14812 4:3682 6:60909 8:55266 10:53852, mount, cut 3:16047, mount, cut 0:39972,
         mount, fail 0:22430, mount, verify, mount",
    );
}

/// No segment is empty. The cleaner copied a page, and the erase of its victim was cut. A mount had no place to copy
/// the page to, which was the last of all, and served the original, where no erase showed. It faded. Now padding is
/// behind such a page before the erase, so that it is certain (SPEC M5).
#[test]
fn what_the_cleaner_copied_last_is_certain() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=5 blocks=40 dies=1 paired-pages=1 mixed-erases
         paged blocks-per-segment=1 cache-entries=8 policies=cost-benefit,by-handle
         logical-pages=29 endurance=100000 seed=10123785777877491991",
        "write 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 10@1 18@1, cut 1:56626,
         write 14, mount, cut 5:23212, write 0, mount, cut 3:27846, write 14+6, mount, write 0 27, mount, write 17,
         mount, write 4, cut 2:49000, write 2, mount, write 16, mount, write 26 21@1!, cut 0:42689, write 15, mount,
         cut 2:58525, write 8, mount, cut 1:18915, write 16, mount, cut 3:15810, write 7+4, cut 0:61598, mount, cut
         4:18820, mount, mount, fail 3:10927, cut 5:37429, write 15+5, mount, write 19, fail 0:18603 2:34050, write
         11, cut 0:8370, write 26, mount, cut 1:50385, write 10, mount, mount, fail 0:27904, write 23, fail 1:36887,
         mount, write 4, fail 1:40207, cut 4:39350, mount, cut 3:40837, mount, cut 2:10266, mount, fail 13:20840,
         mount, cut 4:45428, write 12, fail 0:35843 11:18030, cut 17:21110, mount, cut 5:14159, mount, fail 0:29185
         2:32053 4:53142, mount, cut 3:27477, clean 5, mount",
    );
}

/// Failures have left 12 good segments of the 20 that are needed, and no segment is empty. The padding behind a rescue
/// was cut, and faded, so that its copy is doubted. It gave way to what a cut has left of another rescue, which faded.
/// Now the newer of two such copies counts, unless an erase shows where it lies (SPEC M13).
#[test]
fn a_doubted_copy_gives_way_to_another_doubted_one() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=8 pages-per-block=5 blocks=23 dies=1 paired-pages=1 mixed-erases
         paged blocks-per-segment=1 cache-entries=2 policies=lfs,separate-gc
         logical-pages=11 endurance=100000 seed=13586860122629282858",
        "write 0 1 2 3 4 5 6 7 8 9 1 0, mount, cut 4:56984, write 3, mount, write 0, mount, write 6 0, mount, write 0,
         cut 1:13949, mount, mount, write 5 1, cut 4:31382, mount, mount, write 4 1 2, discard 4+5, fail 2:55810,
         write 1 1 1 0 1 8 1 3 0 3 0 0 0 2 1, mount, discard 1+4, mount, write 0, cut 0:37282, write 9, mount, write 1
         0, mount, cut 4:51180, write 5, mount, write 0, cut 2:1242, write 5, cut 6:12002, mount, mount, write 10 1,
         mount, write 1, cut 3:29938, discard 4+6, mount, write 0, mount, discard 7+4, cut 1:6541, mount, mount, write
         0 0 0 0 1 7 8 0 0, discard 6+2, fail 1:61315, write 8 6 0 1 0 2 5 0 1 1 1 1 1 10 1, discard 5+2, write 4,
         discard 1+5, mount, write 3 6, fail 1:58680 3:28447, mount, write 8, mount, cut 4:37221, write 0, mount, cut
         5:59144, write 0, mount, fail 0:60176, cut 3:1541, write 8, mount, fail 0:4856, cut 6:1769, write 0, cut
         4:21205, mount, cut 4:63077, mount, cut 2:58993, mount, cut 4:50170, mount, cut 4:62744, mount, cut 4:4562,
         mount, cut 0:62493, mount, fail 3:34522, cut 5:32504, mount, fail 0:18144, cut 1:4710, mount, fail 0:28226,
         cut 2:21470, mount, cut 4:19425, mount, mount, cut 1:27301, mount, cut 1:5847, mount, fail 0:44936, cut
         1:58075, mount, cut 4:5104, mount, mount",
    );
}

/// The end of a rescue could not be read, and the copy that the next mount made was being erased. That copy gives way,
/// though its original lies in a rescue without an end (SPEC M13).
#[test]
fn a_half_erased_copy_gives_way_to_a_doubted_one() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=5 blocks=40 dies=1 paired-pages=1 mixed-erases
         paged blocks-per-segment=1 cache-entries=8 policies=cost-benefit,by-handle
         logical-pages=29 endurance=100000 seed=10123785777877491991",
        "write 0 1 2 3 4 5 6 7 8 9 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 10@1 18, mount, write 0,
         mount, write 4 2, mount, write 26 8, mount, cut 3:15810, write 7+4, cut 4:45025, mount, mount, fail 3:16842,
         cut 7:8881, write 15+5, mount, write 19, fail 0:24342 2:59121, write 11, mount, mount, fail 1:20024, write
         23, fail 0:60912, mount, write 4, fail 0:29529, mount, mount, mount, write 12, mount, mount, clean 5, fail
         2:35843, mount, cut 4:57790, mount, cut 0:3225, mount, mount, mount",
    );
}
